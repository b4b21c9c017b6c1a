"""The table of secrets that can be told by their own shape: what vendors issue, and what stands in a fixed phrase.

A new kind is one row. Nothing is compiled or searched here (`kb.scrub.shaped`). The shapes are facts, written down anew; where each comes
from is said by a letter:

    V  the vendor's own documentation of its tokens
    G  also in gitleaks' rules (MIT), https://github.com/gitleaks/gitleaks
    D  also among the plugins of detect-secrets (Apache-2.0), https://github.com/Yelp/detect-secrets
    C  also in CredSweeper's rules (MIT), https://github.com/Samsung/CredSweeper
    K  our own: a phrase in which a password stands
"""

from __future__ import annotations

import msgspec


class Shape(msgspec.Struct, frozen=True):
    kind: str
    """As it is said in `[redacted: kind]`."""
    literals: tuple[str, ...]
    """One of them is in every such secret. A text without any is not looked at further."""
    pattern: str
    """Where it has a group `secret`, that alone is redacted. Every repetition is bounded."""
    source: str
    whole: int = 0
    """Characters that such a secret has, where that is fixed: a shorter one goes on after the end of a line. 0: any number."""
    lead: int = 0
    """Characters that may stand before the literal."""
    is_folded: bool = False
    """Capitals and small letters are the same; the literals are small."""


SHAPES = (
    Shape("aws access key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?![0-9A-Za-z])", "VGDC", 20),
    Shape("aws bedrock key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,280}={0,2}", "GDC"),
    Shape("alibaba access key", ("LTAI",), r"LTAI[A-Za-z0-9]{17,21}(?![A-Za-z0-9])", "GC"),
    Shape("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9_]{20,255}(?:\.[\w-]{10,600}){0,2}", "VGDC", 40),
    Shape("github token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,255}", "VGDC", 93),
    Shape(
        "gitlab token",
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glrtr-", "glcbt-", "glimt-", "glptt-", "glagent-", "gloas-", "glffct-", "glwt-"),
        r"gl(?:pat|dt|ft|soat|rtr?|cbt|imt|ptt|agent|oas|ffct|wt)-[\w-]{20,300}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?",
        "VGDC",
    ),
    Shape("gitlab token", ("GR1348941",), r"GR1348941[\w-]{20,50}", "VGDC", 29),
    Shape("bitbucket token", ("ATBB", "ATCTT3"), r"AT(?:BB[A-Za-z0-9]{24,40}|CTT3[\w=-]{60,400})", "GC"),
    Shape("atlassian token", ("ATATT3",), r"ATATT3[\w=-]{60,400}", "VGC"),
    Shape("slack token", ("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"), r"xox[a-eoprs][.-][\w.%-]{10,300}", "VGDC"),
    Shape("slack token", ("xapp-",), r"xapp-\d-[\w-]{10,300}", "VGC"),
    Shape("slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,200}", "VGDC"),
    Shape("discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{15,22}/[\w-]{40,100}", "VGC"),
    Shape("telegram token", (":AA",), r"\d{8,10}:AA[\w-]{32,34}(?![\w-])", "VGDC", 0, 10),
    Shape("stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"), r"[sr]k_(?:live|test|prod)_[A-Za-z0-9_]{10,250}", "VGDC"),
    Shape("stripe webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,100}", "VG"),
    Shape("square token", ("sq0atp-", "sq0csp-", "sq0idp-"), r"sq0(?:atp|csp|idp)-[\w-]{22,60}", "VGDC"),
    Shape("square token", ("EAAAE", "EAAAl", "EAAAF"), r"EAAA[ElF][\w-]{55,70}(?![\w-])", "GC", 64),
    Shape("facebook token", ("EAA",), r"EAA[A-Z0-9][A-Za-z0-9]{80,400}", "GC"),
    Shape("braintree token", ("access_token$",), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "GC"),
    Shape("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"), r"shp(?:at|ca|pa|ss|ua|tka)_[A-Fa-f0-9]{32,64}", "VGC", 38),
    Shape("google api key", ("AIza",), r"AIza[\w-]{35}", "VGC", 39),
    Shape("google oauth secret", ("GOCSPX-",), r"GOCSPX-[\w-]{24,40}", "VGC", 35),
    Shape("google oauth token", ("ya29.",), r"ya29\.[\w-]{20,1000}(?:\.[\w-]{1,1000}){0,3}", "VGC"),
    Shape("google oauth token", ("1//0",), r"1//0[\w-]{40,200}", "VC"),
    Shape("openai key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,300}", "VGDC"),
    Shape("anthropic key", ("sk-ant-",), r"sk-ant-[\w-]{20,300}", "VGC"),
    Shape("openrouter key", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{40,80}", "VC", 73),
    Shape("openai key", ("sk-",), r"sk-(?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{20,100}", "VGDC", 51),
    Shape("xai key", ("xai-",), r"xai-[A-Za-z0-9]{60,100}", "VC", 84),
    Shape("groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,60}", "VC", 56),
    Shape("perplexity key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,60}", "VGC"),
    Shape("replicate token", ("r8_",), r"r8_[A-Za-z0-9]{36,40}", "V", 40),
    Shape("tavily key", ("tvly-",), r"tvly-[\w-]{20,60}", "VC"),
    Shape("langsmith key", ("lsv2_pt_", "lsv2_sk_"), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", "V", 51),
    Shape("hugging face token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{30,40}", "VGC", 37),
    Shape("npm token", ("npm_",), r"npm_[A-Za-z0-9]{30,60}", "VGDC", 40),
    Shape("npm token", ("_authtoken", "_auth"), r"(?<=[:\n])_auth(?:token)?[ \t]{0,4}=[ \t]{0,4}['\"]?(?P<secret>[\w+/=.-]{16,300})", "VD", 0, 0, is_folded=True),
    Shape("pypi token", ("pypi-",), r"pypi-[\w-]{50,300}", "VGDC"),
    Shape("rubygems key", ("rubygems_",), r"rubygems_[0-9a-f]{40,60}", "VGC", 57),
    Shape("nuget key", ("oy2",), r"oy2[a-z0-9]{43}(?![a-z0-9])", "VGC", 46),
    Shape("crates.io token", ("cio",), r"cio(?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])", "VG", 35),
    Shape("docker token", ("dckr_pat_", "dckr_oat_"), r"dckr_[po]at_[\w-]{20,60}", "VGC"),
    Shape("docker swarm key", ("SWMTKN-1-", "SWMKEY-1-"), r"SWM(?:TKN|KEY)-1-[\w+/-]{40,110}", "VC"),
    Shape("docker registry password", ('"auth"',), r'"auth"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9+/]{12,400}={0,2})"', "VD", 0, 0, is_folded=True),
    Shape("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{60,70}", "VGC", 71),
    Shape("sendgrid key", ("SG.",), r"SG\.[\w-]{16,32}\.[\w-]{16,64}", "VGDC", 69),
    Shape("twilio key", ("SK",), r"SK[0-9a-f]{32}(?![0-9A-Za-z])", "VGDC", 34),
    Shape("mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}(?!\w)", "VGDC", 0, 32),
    Shape("mailgun key", ("key-",), r"key-[0-9a-f]{32}(?![0-9A-Za-z])", "VGC", 36),
    Shape("brevo key", ("xkeysib-", "xsmtpsib-"), r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "VGC"),
    Shape("azure client secret", ("8Q~", "7Q~"), r"[\w~.-]{3}[78]Q~[\w~.-]{31,34}", "VGC", 0, 3),
    Shape("databricks token", ("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?", "VGC", 36),
    Shape("hashicorp vault token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{20,300}", "VGC"),
    Shape("terraform token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,80}", "VGC", 0, 14),
    Shape("pulumi token", ("pul-",), r"pul-[0-9a-f]{40}", "VGC", 44),
    Shape("doppler token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[\w-]{40,60}", "VGC"),
    Shape("grafana token", ("glsa_", "glc_"), r"gl(?:sa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|c_[A-Za-z0-9+/]{32,400}={0,2})", "VGC"),
    Shape("sentry token", ("sntrys_", "sntryu_"), r"sntry[su]_[\w+/=-]{40,400}", "VGC"),
    Shape("new relic key", ("NRAK-", "NRII-", "NRJS-"), r"NR(?:AK|II|JS)-[\w-]{19,40}", "VGC"),
    Shape("dynatrace token", ("dt0c01.", "dt0s01.", "dt0s16."), r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "VGC"),
    Shape("sonarqube token", ("sqp_", "squ_", "sqa_"), r"sq[pua]_[0-9a-f]{40}", "VC", 44),
    Shape("posthog key", ("phx_", "phs_"), r"ph[xs]_[A-Za-z0-9]{40,60}", "VC"),
    Shape("linear key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,70}", "VGC"),
    Shape("notion token", ("ntn_",), r"ntn_[A-Za-z0-9]{40,60}", "VGC"),
    Shape("figma token", ("figd_", "figo_"), r"fig[do]_[\w-]{38,60}", "VC"),
    Shape("postman key", ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "VGC"),
    Shape("airtable token", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "VGC", 82),
    Shape("contentful token", ("CFPAT-",), r"CFPAT-[\w-]{43}", "VC"),
    Shape("netlify token", ("nfp_",), r"nfp_[A-Za-z0-9]{36,50}", "VC", 40),
    Shape("fly.io token", ("fo1_", "fm1r_", "fm1a_", "fm2_"), r"f(?:o1_[\w-]{43}|m(?:1[ar]|2)_[A-Za-z0-9+/]{100,1000}={0,3})", "VG"),
    Shape("supabase key", ("sbp_", "sb_secret_"), r"sb(?:p_(?:v\d_)?[0-9a-f]{40}|_secret_[\w-]{20,60})", "VC"),
    Shape("planetscale token", ("pscale_",), r"pscale_(?:tkn|oauth|pw)_[\w=.-]{30,70}", "VGC"),
    Shape("tailscale key", ("tskey-",), r"tskey-[a-z]{2,10}-[A-Za-z0-9]{10,30}-[A-Za-z0-9]{16,60}", "VC"),
    Shape("heroku key", ("HRKU-",), r"HRKU-[\w-]{30,80}", "VG"),
    Shape("dropbox token", ("sl.",), r"sl\.(?:u\.)?[\w-]{120,1500}", "VGC"),
    Shape("jfrog token", ("AKCp", "cmVmdGtu"), r"(?:AKCp[A-Za-z0-9]{60,80}|cmVmdGtu[A-Za-z0-9+/]{50,70}={0,2})", "GDC"),
    Shape("1password token", ("ops_eyJ",), r"ops_eyJ[\w+/=-]{50,2000}", "VGC"),
    Shape("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "VGC", 74),
    Shape("putty private key", ("Private-Lines:",), r"Private-Lines:[ \t]{0,4}\d{1,3}\s{1,8}(?P<secret>[A-Za-z0-9+/=\s]{64,8000}?)(?=\s{1,8}Private-MAC|\s{0,8}\Z)", "DC"),
    Shape(
        "json web token",
        ("eyJ",),
        r"eyJ[\w=-]{8,8000}\.(?:eyJ[\w=-]{6,16000}(?:\.[\w=-]{0,2000})?|[\w-]{0,1000}\.[\w-]{10,1000}\.[\w-]{10,16000}\.[\w-]{10,100})",
        "VGDC",
    ),
    Shape("password hash", ("$2a$", "$2b$", "$2x$", "$2y$"), r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}", "V", 60),
    Shape("password hash", ("$1$", "$5$", "$6$", "$y$", "$7$", "$argon2"), r"\$(?:[1567y]|argon2(?:id|i|d))\$(?:[\w=,+-]{1,40}\$){0,2}[./A-Za-z0-9+]{2,90}\$[./A-Za-z0-9+=]{22,128}", "V"),
    Shape("token", ("bearer ", "authorization: token ", "authorization: basic "), r"(?:bearer|authorization: (?:token|basic))[ \t]{1,4}['\"]?(?P<secret>(?=[\w~+/=.-]{0,60}\d)[\w~+/=.-]{12,2000})", "GC", 0, 0, is_folded=True),
    Shape("signed url", ("sig=", "signature="), r"[?&](?:[\w-]{0,20}-)?sig(?:nature)?=(?P<secret>(?=[\w%+/=.-]{0,60}\d)[\w%+/=.-]{20,1000})", "C", 0, 24, is_folded=True),
    Shape("api key", ("key=",), r"[?&]key=(?P<secret>(?=[\w%+/=.-]{0,60}\d)[\w%+/=.-]{16,300})", "C", 0, 1, is_folded=True),
    Shape("password", ("identified by ",), r"identified by (?:password )?(?P<quote>['\"])(?P<secret>[^'\"\n]{1,200})(?P=quote)", "K", 0, 0, is_folded=True),
    Shape("password", ("sshpass ",), r"sshpass[ \t]{1,4}-p[ \t]{0,4}(?P<quote>['\"]?)(?P<secret>[^\s'\"]{1,200})(?P=quote)", "K", 0, 0, is_folded=True),
    Shape("password", ("curl ",), r"curl [^\n]{0,300}?(?:-u|--user)[ =]{0,2}['\"]?[^\s:'\"$<]{1,100}:(?P<secret>[^\s'\"]{1,200})", "C", 0, 0, is_folded=True),
)  # fmt: skip
