"""The pages of the site, one module a noun; what all of them need is in `confide.web.pages.context`."""
