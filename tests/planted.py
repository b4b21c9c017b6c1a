"""Secrets of every kind, made when they are asked for: none of them is in any file of this project.

A template says how a vendor's token is built: `{a36}` are 36 letters and digits drawn by lot, `{h32}` hexadecimal digits, `{u16}` capitals and
digits, `{l16}` small letters and digits, `{d10}` digits, `{b43}` letters, digits, `-` and `_`.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from typing import NamedTuple

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "-_",
}
TEMPLATES = {
    "aws access key": ("AKIA{u16}", "ASIA{u16}"),
    "aws bedrock key": ("ABSK{a128}",),
    "alibaba access key": ("LTAI{a20}",),
    "github token": ("ghp_{a36}", "gho_{a36}", "ghu_{a36}", "ghs_{a36}", "ghr_{a36}", "github_pat_{a22}_{a59}"),
    "gitlab token": ("glpat-{b20}", "gldt-{b20}", "glrt-{b20}", "glptt-{h40}", "glcbt-{h2}_{b20}"),
    "bitbucket token": ("ATBB{a32}",),
    "atlassian token": ("ATATT3{a180}={u8}",),
    "slack token": ("xoxb-{d12}-{d12}-{a24}", "xoxp-{d12}-{d12}-{d12}-{h32}", "xapp-1-{u11}-{d13}-{h64}"),
    "slack webhook": ("https://hooks.slack.com/services/T{u8}/B{u10}/{a24}",),
    "discord webhook": ("https://discord.com/api/webhooks/{d18}/{b68}",),
    "telegram token": ("{d10}:AA{b33}",),
    "stripe key": ("sk_live_{a24}", "rk_live_{a24}", "sk_test_{a24}"),
    "stripe webhook secret": ("whsec_{a32}",),
    "square token": ("sq0atp-{b22}", "sq0csp-{b43}"),
    "facebook token": ("EAAB{a120}",),
    "braintree token": ("access_token$production${l16}${h32}",),
    "shopify token": ("shpat_{h32}", "shpss_{h32}"),
    "google api key": ("AIza{b35}",),
    "google oauth secret": ("GOCSPX-{b28}",),
    "google oauth token": ("ya29.{b120}", "1//0{b60}"),
    "openai key": ("sk-proj-{b120}", "sk-{a20}T3BlbkFJ{a20}", "sk-svcacct-{b60}"),
    "anthropic key": ("sk-ant-api03-{b93}AA",),
    "openrouter key": ("sk-or-v1-{h64}",),
    "xai key": ("xai-{a80}",),
    "groq key": ("gsk_{a52}",),
    "perplexity key": ("pplx-{a48}",),
    "replicate token": ("r8_{a37}",),
    "tavily key": ("tvly-dev-{a32}",),
    "langsmith key": ("lsv2_pt_{h32}_{h10}",),
    "hugging face token": ("hf_{a34}",),
    "npm token": ("npm_{a36}",),
    "pypi token": ("pypi-AgEIcHlwaS5vcmc{b130}",),
    "rubygems key": ("rubygems_{h48}",),
    "nuget key": ("oy2{l43}",),
    "docker token": ("dckr_pat_{b27}",),
    "docker swarm key": ("SWMTKN-1-{l50}-{l25}",),
    "digitalocean token": ("dop_v1_{h64}",),
    "sendgrid key": ("SG.{b22}.{b43}",),
    "twilio key": ("SK{h32}",),
    "mailchimp key": ("{h32}-us12",),
    "mailgun key": ("key-{h32}",),
    "brevo key": ("xkeysib-{h64}-{a16}",),
    "azure client secret": ("{a3}8Q~{a34}",),
    "databricks token": ("dapi{h32}",),
    "hashicorp vault token": ("hvs.{b95}",),
    "terraform token": ("{a14}.atlasv1.{b67}",),
    "pulumi token": ("pul-{h40}",),
    "doppler token": ("dp.pt.{a43}",),
    "grafana token": ("glsa_{a32}_{h8}",),
    "sentry token": ("sntrys_{a120}", "sntryu_{h64}"),
    "new relic key": ("NRAK-{u27}",),
    "dynatrace token": ("dt0c01.{u24}.{u64}",),
    "sonarqube token": ("sqp_{h40}",),
    "posthog key": ("phx_{a43}",),
    "linear key": ("lin_api_{a40}",),
    "notion token": ("ntn_{d11}{a35}",),
    "figma token": ("figd_{b40}",),
    "postman key": ("PMAK-{h24}-{h34}",),
    "airtable token": ("pat{a14}.{h64}",),
    "contentful token": ("CFPAT-{b43}",),
    "netlify token": ("nfp_{a36}",),
    "fly.io token": ("fo1_{b43}",),
    "supabase key": ("sbp_{h40}", "sb_secret_{b31}"),
    "planetscale token": ("pscale_tkn_{b43}",),
    "tailscale key": ("tskey-auth-{a17}-{a32}",),
    "heroku key": ("HRKU-{b60}",),
    "jfrog token": ("AKCp{a69}",),
    "1password token": ("ops_eyJ{a300}",),
    "age key": ("AGE-SECRET-KEY-1{u58}",),
    "password hash": ("$2b$12${a53}", "$6${a16}${a86}"),
}  # fmt: skip
LABELLED = (
    "{label}: {secret}", "{label} = '{secret}'", '"{label}": "{secret}",', "export {upper}={secret}", "<{label}>{secret}</{label}>", "--{label} {secret}",
    "- name: {upper}\n  value: {secret}", '<add key="{label}" value="{secret}"/>', "Server=db;User Id=sa;{label}={secret};Encrypt=yes",
    "**{label}**: `{secret}`", "https://example.org/x?{label}={secret}&page=2", "define('{upper}', '{secret}');", 'String {label} = "{secret}";',
    '{label} := "{secret}"', '{{"body": "{{\\"{label}\\": \\"{secret}\\"}}"}}', "{label}: |\n  {secret}\n", "| {label} | {secret} |",
    "| user | {label} |\n| --- | --- |\n| anna | {secret} |",
)  # fmt: skip
"""How people bind a secret to a name."""
PASSWORDS = ("hunter{d2}x", "S{l5}{d2}!", "{l4}#{a6}{d1}", "Tr0ub4dor&{d2}", "{a14}{d2}")


class Planted(NamedTuple):
    kind: str
    secret: str
    line: str
    """How it stands in a text."""


class Planter:
    def __init__(self, seed: int) -> None:
        self.lot = random.Random(seed)

    def made(self, template: str) -> str:
        def drawn(match: re.Match[str]) -> str:
            """Never without a digit and a letter where there is room for both: lots of 20 characters nearly always have them."""
            alphabet, count = ALPHABETS[match[1]], int(match[2])
            said = "".join(self.lot.choices(alphabet, k=count))
            return (
                said
                if count < 3 or match[1] in "du"
                else said[:-2] + self.lot.choice(string.digits) + said[-1].replace("-", "a").replace("_", "b")
            )

        return re.sub(r"\{([ahuldb])(\d+)\}", drawn, template)

    def of_shape(self) -> list[Planted]:
        """Vendors' tokens, each alone in a line of prose."""
        return [
            Planted(kind, secret, f"We were given {secret} for this.")
            for kind, templates in TEMPLATES.items()
            for secret in map(self.made, templates)
        ]

    def private_key(self, name: str = "RSA ", length: int = 800) -> str:
        body = base64.b64encode(self.lot.randbytes(length)).decode()
        lines = [body[start : start + 64] for start in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {name}PRIVATE KEY-----", *lines, f"-----END {name}PRIVATE KEY-----"])

    def web_token(self) -> str:
        parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": str(self.lot.random()), "name": "Anna", "iat": 1700000000})
        said = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return ".".join([*said, self.made("{b43}")])

    def others(self) -> list[Planted]:
        """What is told by where it stands: labelled, in an address, in a fixed phrase."""
        found = []
        for label, templates in (
            ("password", PASSWORDS), ("token", ("{h40}", "{b32}")), ("api_key", ("{h32}", "{a24}")), ("client_secret", ("{b40}",)),
            ("aws_secret_access_key", ("{a40}",)),
        ):  # fmt: skip
            for form in LABELLED:
                secret = self.made(self.lot.choice(templates))
                kind = {"api_key": "api key", "client_secret": "secret", "aws_secret_access_key": "aws secret key"}.get(
                    label, label
                )
                found.append(Planted(kind, secret, form.format(label=label, upper=label.upper(), secret=secret)))
        for form in (
            "postgres://anna:{}@db.example.org/shop",
            "https://anna:{}@example.org/x.git",
            "amqp://guest:{}@mq:5672",
        ):
            secret = self.made("{a12}{d2}")
            found.append(Planted("password", secret, f"Connect to {form.format(secret)} first."))
        year = self.made("Company2026!").replace("Company", self.lot.choice(("Zephyr", "Quokka", "Bramble")))
        found.append(Planted("password", year, f"She always took {year} and nobody minded."))
        for form in ("Authorization: Bearer {}", "curl -u anna:{} https://example.org", "sshpass -p {} ssh anna@host",
                     "CREATE USER anna IDENTIFIED BY '{}';", "machine example.org login anna password {}"):  # fmt: skip
            secret = self.made("{a18}{d2}")
            found.append(Planted("token" if "Bearer" in form else "password", secret, form.format(secret)))
        jwt = self.web_token()
        return [*found, Planted("json web token", jwt, f"It sent {jwt} back.")]

    def every(self) -> list[Planted]:
        return [*self.of_shape(), *self.others()]
