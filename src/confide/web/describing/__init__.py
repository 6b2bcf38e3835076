"""The page of `confide describe`: a description looked at and mended in a browser on the custodian's own machine."""
