"""Who may reach a site: its declared state, its people, the tokens they show, and the file that keeps them."""

from confide.site.access.declared import Access, Reach, is_loopback, must_be_servable
from confide.site.access.file import (
    AccessFile,
    add_project,
    add_token,
    declare,
    list_tokens,
    load_access,
    remove_project,
    remove_token,
)
from confide.site.access.people import ANYONE, VISITOR, Asking, Person, PersonRole, Token, TokenTerms, asked_by, require
from confide.site.access.projects import Project

__all__ = [
    "ANYONE",
    "VISITOR",
    "Access",
    "AccessFile",
    "Asking",
    "Person",
    "PersonRole",
    "Project",
    "Reach",
    "Token",
    "TokenTerms",
    "add_project",
    "add_token",
    "asked_by",
    "declare",
    "is_loopback",
    "list_tokens",
    "load_access",
    "must_be_servable",
    "remove_project",
    "remove_token",
    "require",
]
