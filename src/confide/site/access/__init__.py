"""Who may reach a site: its declared state, its people, the tokens they show, and the file that keeps them."""

from confide.site.access.declared import Access, Reach, must_be_servable
from confide.site.access.file import (
    AccessFile,
    add_project,
    add_token,
    declare,
    declare_login,
    list_tokens,
    load_access,
    remove_project,
    remove_token,
)
from confide.site.access.machines import is_loopback
from confide.site.access.openid import Admission, Identity, Provider
from confide.site.access.people import ANYONE, VISITOR, Asking, Person, PersonRole, Token, TokenTerms, asked_by, require
from confide.site.access.projects import Project

__all__ = [
    "ANYONE",
    "VISITOR",
    "Access",
    "AccessFile",
    "Admission",
    "Asking",
    "Identity",
    "Person",
    "PersonRole",
    "Project",
    "Provider",
    "Reach",
    "Token",
    "TokenTerms",
    "add_project",
    "add_token",
    "asked_by",
    "declare",
    "declare_login",
    "is_loopback",
    "list_tokens",
    "load_access",
    "must_be_servable",
    "remove_project",
    "remove_token",
    "require",
]
