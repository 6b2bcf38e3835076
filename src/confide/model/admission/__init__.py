"""What can be told of a request from public metadata alone: whether it is well formed, and whether a policy allows its shape.

No module here knows data, engines or noise: pages that offer choices ask here, and so does the road of an answer.
"""
