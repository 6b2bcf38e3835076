"""A real OpenID provider (Django OAuth Toolkit) on loopback: `python openid_provider.py FOLDER REDIRECT_URI [PORT]`.

It knows ana (a researcher), carl (of the office) and eve (whose address it has not verified), each with the password `open sesame`.
"""

import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django import conf
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

PASSWORD = "open sesame"
SECRET = "between us"
PEOPLE = {"ana": ["research"], "carl": ["office", "research"], "eve": ["office"], "olaf": []}

FORM = """<form method="post">{% csrf_token %}<input type="hidden" name="next" value="{{ next }}">
<input name="username" aria-label="Name"><input name="password" type="password" aria-label="Password"><button>Enter</button></form>"""


def claims() -> type:
    """Groups are told with the ID token, an address only by the userinfo endpoint, as many providers do."""
    from oauth2_provider.oauth2_validators import OAuth2Validator

    class Claims(OAuth2Validator):
        oidc_claim_scope = None

        def get_additional_claims(self, request):
            return {"groups": PEOPLE[request.user.username]}

        def get_userinfo_claims(self, request):
            verified = request.user.username != "eve"
            told = super().get_userinfo_claims(request)
            return told | {"email": request.user.email, "email_verified": verified}

    return Claims


urlpatterns = []


def set_up(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    conf.settings.configure(
        SECRET_KEY="for tests",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "provider.sqlite"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        INSTALLED_APPS=[f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions")]
        + ["oauth2_provider"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "context_processors": ["django.template.context_processors.request"],
                    "loaders": [("django.template.loaders.locmem.Loader", {"registration/login.html": FORM})],
                },
            }
        ],
        LOGIN_URL="/login/",
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": key.private_bytes(*kinds).decode(),
            "SCOPES": {"openid": "", "email": "", "groups": ""},
        },
    )
    django.setup()
    conf.settings.OAUTH2_PROVIDER["OAUTH2_VALIDATOR_CLASS"] = claims()


def fill(redirect: str) -> None:
    from django.contrib.auth.models import User
    from oauth2_provider.models import Application

    call_command("migrate", verbosity=0)
    for name in PEOPLE:
        User.objects.create_user(name, f"{name}@example.org", PASSWORD)
    Application.objects.create(
        client_id="confide",
        client_secret=SECRET,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris=redirect,
        skip_authorization=True,
        algorithm="RS256",
    )


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def main() -> None:
    folder, redirect = Path(sys.argv[1]), sys.argv[2]
    set_up(folder)
    from django.contrib.auth.views import LoginView

    urlpatterns.append(path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")))
    urlpatterns.append(path("login/", LoginView.as_view()))
    fill(redirect)
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with make_server("127.0.0.1", port, get_wsgi_application(), server_class=Threaded) as server:
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
