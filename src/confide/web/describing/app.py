"""The app of `confide describe`. It is no part of a served site, since it shows true figures and writes what the site is made from."""

from fastapi import FastAPI, Request, Response
from starlette.types import Scope

from confide import __version__
from confide.model.policy import preset_policy
from confide.web.describing.context import FORMS, DescribingContext, OpenDescription
from confide.web.describing.overview import add_overview
from confide.web.describing.variable import add_variable
from confide.web.metrics import Metrics
from confide.web.middleware import Middleware
from confide.web.pages.static import add_static
from confide.web.problems import show_problems
from confide.web.subpath import ROOT

__all__ = ["create_describing_app"]


def create_describing_app(site: OpenDescription) -> FastAPI:
    """The pages of a description, for the one browser that shows its token first."""
    context = DescribingContext(site)
    app = FastAPI(title="Confide", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.router.redirect_slashes = False
    pace = preset_policy("standard")
    app.add_middleware(
        Middleware,
        access=lambda: site.access,
        policy=lambda: pace,
        authentication=context.authentication,
        reply=context.reply,
        probe=_no_probe,
        metrics=Metrics(),
        path=ROOT,
        forms=FORMS,
    )
    show_problems(app, context.reply)
    add_static(app, dict)

    @app.get("/open")
    def opening(request: Request) -> Response:
        return context.open(request)

    add_overview(app, context)
    add_variable(app, context)
    return app


async def _no_probe(scope: Scope) -> None:
    """Nobody watches a description."""
