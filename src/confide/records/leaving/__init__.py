"""Those who leave a data set: somebody alike leaves in their stead where the update would tell of them."""
