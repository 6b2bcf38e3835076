"""Variables that an analyst makes of declared ones: what they are, and how they are written.

They live in a request. What they come to in a data set, `confide.model.admission.derived` tells.
"""
