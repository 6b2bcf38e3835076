"""The pages of the site, one module a noun; all of them stand in `confide.web.pages.frame`."""
