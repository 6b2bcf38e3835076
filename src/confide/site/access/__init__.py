"""Who may reach a site: its declared state, its people, the tokens they show, and the file that keeps them."""

from confide.site.access.declared import Access, Reach, is_loopback, must_be_servable
from confide.site.access.file import AccessFile, add_token, declare, list_tokens, load_access, remove_token
from confide.site.access.people import ANYONE, VISITOR, Asking, Person, PersonRole, Token, TokenTerms, require

__all__ = [
    "ANYONE",
    "VISITOR",
    "Access",
    "AccessFile",
    "Asking",
    "Person",
    "PersonRole",
    "Reach",
    "Token",
    "TokenTerms",
    "add_token",
    "declare",
    "is_loopback",
    "list_tokens",
    "load_access",
    "must_be_servable",
    "remove_token",
    "require",
]
