//! A rule is one kind of secret: its name, how it begins, its pattern, an example.
//!
//! This is the table. A new kind of secret is one entry here, and its example is its test; the
//! example stands in parts, so that this file holds none that a scanner would report.

use super::validators::{
    Candidate, after_a_number, anywhere, credential, mixed, mixed_token, named_or_alone, password,
    secret, token, url_password,
};

/// One kind of secret.
pub struct Rule {
    /// The name that stands in place of the secret.
    pub name: &'static str,
    /// What a match begins with, in any case; a rule without anchors is tried at each long run.
    pub anchors: &'static [&'static str],
    /// What to match from the anchor on; the secret is the first group, or all of it without
    /// groups.
    pub pattern: &'static str,
    /// A secret of this kind, in parts, so that this file holds none that a scanner would report.
    pub example: &'static [&'static str],
    /// Looks at the match and its surroundings.
    pub(super) judge: fn(&Candidate) -> bool,
}

/// The one rule whose matches may be long: its place in the table.
pub(super) const PRIVATE_KEY: usize = 0;

/// Makes the pattern of `name = value` for names that end in one of the keys, in any notation:
/// quoted, escaped within JSON, bare as in YAML or an environment file, annotated with a type, or a
/// flag.
macro_rules! assignment {
    ($keys:literal) => {
        concat!(
            r"(?i)(?:",
            $keys,
            r#")[0-9]{0,2}(?:\\{0,7}["'`])?[\])]?"#,
            r#"(?:[ \t]{0,8}:[ \t]{0,2}[A-Z_&][A-Z0-9_<>&'.]{1,30}[ \t]{1,2}=[ \t]{0,4}"#,
            r#"|[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,4}|[ \t]{1,2})"#,
            r#"(?:\\{1,7}"([^"\\\r\n]{4,})"#,
            r#"|[bfru]?"((?:[^"\\\r\n]|\\.){4,})"#,
            r#"|[bfru]?'((?:[^'\\\r\n]|\\.){4,})"#,
            r#"|`([^`\r\n]{4,})"#,
            r#"|([^\s"'`,;(){}\[\]<>|&=\\][^\s"'`,;(){}\[\]<>|&\\]{3,}))"#,
        )
    };
}

/// The built-in rules; where two match at one place, the first names the secret.
pub const RULES: &[Rule] = &[
    // Blocks, also when cut off, printed with line numbers, or written with `\n` in a JSON string.
    Rule {
        name: "private-key",
        anchors: &["-----BEGIN "],
        pattern: concat!(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[ \t\r\n|>+,]|\\{1,4}[nrt]|[0-9]{1,5}(?:→|\t|:)|\\{0,7}[\x22'])*",
            r"(?:[A-Za-z0-9+/]{16,}={0,3}|[A-Z][A-Za-z-]{2,20}: [^\r\n\\]{1,120}))+",
            r"(?:(?:[ \t\r\n|>+,]|\\{1,4}[nrt]|[0-9]{1,5}(?:→|\t|:)|\\{0,7}[\x22']|=?[A-Za-z0-9+/]{1,15}={0,2})*",
            r"-----END [A-Z0-9 ]{0,40}-----)?",
        ),
        example: &[
            "-----BEGIN RSA PRIV",
            "ATE KEY-----\nMIIEpAIBAAKCAQEA7bq0\nabc=\n-----END RSA PRIV",
            "ATE KEY-----",
        ],
        judge: anywhere,
    },
    Rule {
        name: "jwt",
        anchors: &["eyJ"],
        pattern: r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}",
        example: &[
            "eyJhbGciOiJIUzI1NiJ9",
            ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        ],
        judge: token,
    },
    // Clouds.
    Rule {
        name: "aws-access-key-id",
        anchors: &["AKIA", "ASIA", "ABIA", "ACCA"],
        pattern: r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        example: &["AKIA", "Z7Q2M4W8X1C5V9B3"],
        judge: token,
    },
    Rule {
        name: "aws-secret-key",
        anchors: &["secret"],
        pattern: r#"(?i)secret[_-]?(?:access[_-]?)?key["'\\]{0,8}[ \t]{0,8}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|\z)"#,
        example: &["aws_secret_access_key = ", "wJalrXUtnFEMI0K7MDENGxbPxRfiCYq8vT2mLs5e"],
        judge: mixed,
    },
    Rule {
        name: "aws-session-token",
        anchors: &["session_token", "sessiontoken"],
        pattern: r#"(?i)session_?token["'\\]{0,8}[ \t]{0,8}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9/+=]{100,})"#,
        example: &[
            "aws_session_token=",
            "IQoJb3JpZ2luX2VjEPr3x9Tq7Vn2Lw8Zk4Rm6Yc1Hd5Gs0Jf",
            "IQoJb3JpZ2luX2VjEPr3x9Tq7Vn2Lw8Zk4Rm6Yc1Hd5Gs0Jf",
            "Ab3De5Gh7",
        ],
        judge: mixed,
    },
    Rule {
        name: "google-api-key",
        anchors: &["AIza"],
        pattern: r"AIza[A-Za-z0-9_-]{35}",
        example: &["AIza", "SyD3x8Kq1Lm5Np7Rt9Vw2Zb4Cd6Ef8Gh0Jk"],
        judge: token,
    },
    Rule {
        name: "google-oauth-token",
        anchors: &["ya29.", "1//0"],
        pattern: r"(?:ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})",
        example: &["ya29.", "a0AfH6SMBx7Kq2Wm9Zr4Tn8Yc1Vd5"],
        judge: token,
    },
    Rule {
        name: "google-client-secret",
        anchors: &["GOCSPX-"],
        pattern: r"GOCSPX-[A-Za-z0-9_-]{20,}",
        example: &["GOCSPX", "-k3Jx8Lm2Qw7Zn5Rt9Vb4Yc1Hd6Gf"],
        judge: token,
    },
    Rule {
        name: "gcp-service-account",
        anchors: &["private_key_id"],
        pattern: r#"private_key_id\\{0,7}["'][ \t]{0,4}:[ \t]{0,4}\\{0,7}["']([0-9a-f]{40})"#,
        example: &[
            r#""private_key_id": ""#,
            "3f9a1c7e5b2d8064",
            "9e1f3a7c5d2b8064f1a3c5e7",
            r#"""#,
        ],
        judge: anywhere,
    },
    Rule {
        name: "azure-storage-key",
        anchors: &["AccountKey=", "SharedAccessKey="],
        pattern: r"(?i)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})",
        example: &["AccountKey=", "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2=="],
        judge: anywhere,
    },
    Rule {
        name: "azure-sas",
        anchors: &["sig="],
        pattern: r"sig=([A-Za-z0-9%/+]{40,}={0,2})",
        example: &[
            "https://x.blob.core.windows.net/c?sv=2024&sig=",
            "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2%3D",
        ],
        judge: token,
    },
    Rule {
        name: "azure-client-secret",
        anchors: &["7Q~", "8Q~"],
        pattern: r"[78]Q~[A-Za-z0-9_~.-]{31,34}",
        example: &["aB3", "8Q~", "dEfGh1JkLmN0pQrStUvWxYz2345678_abc"],
        judge: anywhere,
    },
    Rule {
        name: "digitalocean-token",
        anchors: &["dop_v1_", "doo_v1_", "dor_v1_"],
        pattern: r"do[opr]_v1_[0-9a-f]{64}",
        example: &["dop_v1_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"],
        judge: token,
    },
    Rule {
        name: "cloudflare-token",
        anchors: &["cloudflare", "cf_api", "v1.0-"],
        pattern: r#"(?:v1\.0-[0-9a-f]{24}-[0-9a-f]{146}|(?i:cloudflare|cf_api)[A-Za-z0-9_ .-]{0,24}["'\\]{0,8}[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9_-]{37,53})(?:[^A-Za-z0-9_-]|\z))"#,
        example: &["CLOUDFLARE_API_TOKEN=", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"],
        judge: mixed,
    },
    Rule {
        name: "heroku-key",
        anchors: &["heroku", "HRKU-"],
        pattern: r#"(?:HRKU-[A-Za-z0-9_-]{36,}|(?i:heroku)[A-Za-z0-9_ .-]{0,24}["'\\]{0,8}[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}))"#,
        example: &["HEROKU_API_KEY=", "3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"],
        judge: anywhere,
    },
    Rule {
        name: "netlify-token",
        anchors: &["nfp_"],
        pattern: r"nfp_[A-Za-z0-9]{36,}",
        example: &["nfp_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"],
        judge: token,
    },
    Rule {
        name: "supabase-key",
        anchors: &["sbp_", "sb_secret_"],
        pattern: r"(?:sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})",
        example: &["sbp_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"],
        judge: token,
    },
    Rule {
        name: "planetscale-token",
        anchors: &["pscale_"],
        pattern: r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
        example: &["pscale_", "tkn_x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"],
        judge: token,
    },
    Rule {
        name: "databricks-token",
        anchors: &["dapi"],
        pattern: r"dapi[0-9a-f]{32}(?:-[0-9])?\b",
        example: &["dapi", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"],
        judge: token,
    },
    Rule {
        name: "terraform-token",
        anchors: &[".atlasv1."],
        pattern: r"\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        example: &[
            "x7Kq2Wm9Zr4Tn8.atlas",
            "v1.",
            "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ux7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf",
        ],
        judge: anywhere,
    },
    Rule {
        name: "pulumi-token",
        anchors: &["pul-"],
        pattern: r"pul-[0-9a-f]{40}\b",
        example: &["pul-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"],
        judge: token,
    },
    Rule {
        name: "vault-token",
        anchors: &["hvs.", "hvb.", "hvr."],
        pattern: r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
        example: &["hvs.", "CAESIx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf"],
        judge: token,
    },
    Rule {
        name: "doppler-token",
        anchors: &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        pattern: r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        example: &["dp.pt.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nk"],
        judge: token,
    },
    Rule {
        name: "1password-token",
        anchors: &["ops_eyJ"],
        pattern: r"ops_eyJ[A-Za-z0-9+/=_-]{60,}",
        example: &["ops_", "eyJx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6"],
        judge: token,
    },
    Rule {
        name: "age-secret-key",
        anchors: &["AGE-SECRET-KEY-"],
        pattern: r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}",
        example: &[
            "AGE-SECRET-",
            "KEY-1QZX7KQ2WM9ZR4TN8YC0VD5LP3S6HF0JG9EA2U4N8K7Q2W9Z4T8Y0V5L3S6F",
        ],
        judge: token,
    },
    // Code and packages.
    Rule {
        name: "github-token",
        anchors: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        pattern: r"gh[pousr]_[A-Za-z0-9]{36,}",
        example: &["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"],
        judge: token,
    },
    Rule {
        name: "github-fine-grained-token",
        anchors: &["github_pat_"],
        pattern: r"github_pat_[A-Za-z0-9_]{22,}",
        example: &["github_pat_", "11ABCDEFG0x7Kq2Wm9Zr4T_n8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"],
        judge: token,
    },
    Rule {
        name: "gitlab-token",
        anchors: &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
        pattern: r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{20,}",
        example: &["glpat-", "x7Kq2Wm9Zr4Tn8Yc1Vd5"],
        judge: token,
    },
    Rule {
        name: "atlassian-token",
        anchors: &["ATATT3", "ATCTT3", "ATBB"],
        pattern: r"(?:AT[AC]TT3[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{32}\b)",
        example: &[
            "ATATT3",
            "xFfGF0x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B=4E1F",
        ],
        judge: token,
    },
    Rule {
        name: "npm-token",
        anchors: &["npm_"],
        pattern: r"npm_[A-Za-z0-9]{36}\b",
        example: &["npm_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"],
        judge: token,
    },
    Rule {
        name: "pypi-token",
        anchors: &["pypi-"],
        pattern: r"pypi-[A-Za-z0-9_-]{32,}",
        example: &["pypi-", "AgEIcHlwaS5vcmcCJDNmOWExYzdlLTViMmQtNDA2NA"],
        judge: mixed_token,
    },
    Rule {
        name: "crates-io-token",
        anchors: &["cio"],
        pattern: r"cio[A-Za-z0-9]{32}\b",
        example: &["cio", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9"],
        judge: mixed_token,
    },
    Rule {
        name: "rubygems-key",
        anchors: &["rubygems_"],
        pattern: r"rubygems_[0-9a-f]{48}",
        example: &["rubygems_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e"],
        judge: token,
    },
    Rule {
        name: "nuget-key",
        anchors: &["oy2"],
        pattern: r"oy2[a-z0-9]{43}\b",
        example: &["oy2", "x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9ea2ub4nk8qw"],
        judge: token,
    },
    Rule {
        name: "docker-token",
        anchors: &["dckr_pat_", "dckr_oat_"],
        pattern: r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
        example: &["dckr_pat_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6H"],
        judge: token,
    },
    Rule {
        name: "sourcegraph-token",
        anchors: &["sgp_"],
        pattern: r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}",
        example: &["sgp_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"],
        judge: token,
    },
    Rule {
        name: "buildkite-token",
        anchors: &["bkua_"],
        pattern: r"bkua_[0-9a-f]{40}",
        example: &["bkua_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"],
        judge: token,
    },
    // Models.
    Rule {
        name: "anthropic-key",
        anchors: &["sk-ant-"],
        pattern: r"sk-ant-[A-Za-z0-9_-]{20,}",
        example: &["sk-ant-", "api03-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N-AA"],
        judge: mixed_token,
    },
    Rule {
        name: "openrouter-key",
        anchors: &["sk-or-"],
        pattern: r"sk-or-(?:v1-)?[0-9a-f]{40,}",
        example: &["sk-or-v1-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"],
        judge: token,
    },
    Rule {
        name: "openai-key",
        anchors: &["sk-"],
        pattern: r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}",
        example: &["sk-proj-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"],
        judge: mixed_token,
    },
    Rule {
        name: "xai-key",
        anchors: &["xai-"],
        pattern: r"xai-[A-Za-z0-9]{40,}",
        example: &["xai-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"],
        judge: token,
    },
    Rule {
        name: "groq-key",
        anchors: &["gsk_"],
        pattern: r"gsk_[A-Za-z0-9]{40,}",
        example: &["gsk_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"],
        judge: token,
    },
    Rule {
        name: "hugging-face-token",
        anchors: &["hf_", "api_org_"],
        pattern: r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
        example: &["hf_", "x7KqWmZrTnYcVdLpBsHfJgEaUbNkQwRtYu"],
        judge: token,
    },
    Rule {
        name: "replicate-token",
        anchors: &["r8_"],
        pattern: r"r8_[A-Za-z0-9]{30,}",
        example: &["r8_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"],
        judge: token,
    },
    Rule {
        name: "perplexity-key",
        anchors: &["pplx-"],
        pattern: r"pplx-[A-Za-z0-9]{40,}",
        example: &["pplx-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"],
        judge: token,
    },
    Rule {
        name: "nvidia-key",
        anchors: &["nvapi-"],
        pattern: r"nvapi-[A-Za-z0-9_-]{40,}",
        example: &["nvapi-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"],
        judge: token,
    },
    Rule {
        name: "cerebras-key",
        anchors: &["csk-"],
        pattern: r"csk-[a-z0-9]{40,}",
        example: &["csk-", "x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9ea2ub4n8lw"],
        judge: token,
    },
    Rule {
        name: "langsmith-key",
        anchors: &["lsv2_"],
        pattern: r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
        example: &["lsv2_", "pt_3f9a1c7e5b2d80649e1f3a7c5d2b8064_f1a3c5e73f"],
        judge: token,
    },
    Rule {
        name: "tavily-key",
        anchors: &["tvly-"],
        pattern: r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}",
        example: &["tvly-", "dev-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0J"],
        judge: token,
    },
    // Services.
    Rule {
        name: "slack-token",
        anchors: &["xox", "xapp-"],
        pattern: r"(?:xox[a-z](?:\.xox[a-z])?-|xapp-)[A-Za-z0-9-]{10,}",
        example: &["xoxb-", "2438-5901-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"],
        judge: mixed_token,
    },
    Rule {
        name: "slack-webhook",
        anchors: &["hooks.slack.com/"],
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{20,})",
        example: &[
            "https://hooks.slack.com/",
            "services/T02AB3CD4/B05EF6GH7/x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B",
        ],
        judge: mixed,
    },
    Rule {
        name: "discord-webhook",
        anchors: &["/api/webhooks/"],
        pattern: r"/api/webhooks/([0-9]{15,20}/[A-Za-z0-9_-]{40,})",
        example: &[
            "https://discord.com/api/",
            "webhooks/123456789012345678/x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw",
        ],
        judge: anywhere,
    },
    Rule {
        name: "discord-bot-token",
        anchors: &[],
        pattern: r"[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        example: &[
            "MTIzNDU2Nzg5MDEyMzQ1Njc4",
            ".Gx7Kq2.",
            "Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lwk",
        ],
        judge: token,
    },
    Rule {
        name: "telegram-bot-token",
        anchors: &[":AA"],
        pattern: r":(AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|\z)",
        example: &["7123456789", ":AA", "Hx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9"],
        judge: after_a_number,
    },
    Rule {
        name: "stripe-key",
        anchors: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        pattern: r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
        example: &["sk_", "live_x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"],
        judge: token,
    },
    Rule {
        name: "square-token",
        anchors: &["sq0atp-", "sq0csp-", "EAAA"],
        pattern: r"(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60}\b)",
        example: &["sq0atp-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp"],
        judge: named_or_alone,
    },
    Rule {
        name: "shopify-token",
        anchors: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        example: &["shpat_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"],
        judge: token,
    },
    Rule {
        name: "twilio-key",
        anchors: &[],
        pattern: r"(?:SK|AC)[0-9a-f]{32}\b",
        example: &["SK", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"],
        judge: token,
    },
    Rule {
        name: "sendgrid-key",
        anchors: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}",
        example: &["SG.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp", ".3Bs6Hf0Jg9Ea2Ub4N8Lwx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3"],
        judge: mixed_token,
    },
    Rule {
        name: "mailgun-key",
        anchors: &["key-"],
        pattern: r"key-[0-9a-f]{32}\b",
        example: &["key-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"],
        judge: token,
    },
    Rule {
        name: "mailchimp-key",
        anchors: &[],
        pattern: r"[0-9a-f]{32}-us[0-9]{1,2}\b",
        example: &["3f9a1c7e5b2d80649e1f3a7c5d2b8064", "-us12"],
        judge: token,
    },
    Rule {
        name: "linear-key",
        anchors: &["lin_api_", "lin_oauth_"],
        pattern: r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
        example: &["lin_api_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8"],
        judge: token,
    },
    Rule {
        name: "notion-token",
        anchors: &["ntn_", "secret_"],
        pattern: r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
        example: &["ntn_", "123456789x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub"],
        judge: token,
    },
    Rule {
        name: "postman-key",
        anchors: &["PMAK-"],
        pattern: r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
        example: &["PMAK-", "3f9a1c7e5b2d80649e1f3a7c-5d2b8064f1a3c5e73f9a1c7e5b2d80649e"],
        judge: token,
    },
    Rule {
        name: "figma-token",
        anchors: &["figd_", "figu_", "figo_"],
        pattern: r"fig[duo]r?_[A-Za-z0-9_-]{38,}",
        example: &["figd_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8"],
        judge: token,
    },
    Rule {
        name: "grafana-token",
        anchors: &["glsa_", "glc_"],
        pattern: r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_eyJ[A-Za-z0-9+/=]{40,})",
        example: &["glsa_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9_3f9a1c7e"],
        judge: token,
    },
    Rule {
        name: "sentry-token",
        anchors: &["sntrys_", "sntryu_"],
        pattern: r"(?:sntryu_[0-9a-f]{64}|sntrys_eyJ[A-Za-z0-9+/=_-]{40,})",
        example: &["sntryu_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"],
        judge: token,
    },
    Rule {
        name: "new-relic-key",
        anchors: &["NRAK-", "NRII-"],
        pattern: r"(?:NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9_-]{32})",
        example: &["NRAK-", "X7KQ2WM9ZR4TN8YC1VD5LP3BS6H"],
        judge: token,
    },
    // What stands in an address, a header or an assignment.
    Rule {
        name: "url-password",
        anchors: &["://"],
        pattern: r#"://[^\s/:@"'`<>\\,;()\[\]{}]{0,128}:([^\s/"'`<>\\,]{1,256})@[A-Za-z0-9\[]"#,
        example: &["postgres://app:", "hunter2", "@db.internal/main"],
        judge: url_password,
    },
    Rule {
        name: "authorization",
        anchors: &["authorization"],
        pattern: r#"(?i)authorization["'\\\])]{0,8}[ \t]{0,3}[:=,][ \t]{0,3}["'`\\]{0,8}(?:(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,3})?([A-Za-z0-9._~+/=-]{8,})"#,
        example: &["Authorization: Basic ", "YXBwOmh1bnRlcjI="],
        judge: credential,
    },
    Rule {
        name: "bearer",
        anchors: &["bearer "],
        pattern: r"(?i)bearer[ \t]{1,3}([A-Za-z0-9._~+/=-]{16,})",
        example: &["curl -H 'X-Auth: Bearer ", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B", "'"],
        judge: credential,
    },
    Rule {
        name: "password",
        anchors: &["password", "passwd", "passphrase", "pwd", "_pass"],
        pattern: assignment!("password|passwd|passphrase|pwd|_pass"),
        example: &["DB_PASSWORD=", "correcthorse"],
        judge: password,
    },
    Rule {
        name: "secret",
        anchors: &[
            "secret", "token", "credential", "api_key", "api-key", "apikey", "access_key",
            "access-key", "accesskey", "auth_key", "private_key", "privatekey", "signing_key",
            "encryption_key", "master_key",
        ],
        pattern: assignment!(
            "secret(?:[_-]?(?:access[_-]?)?key)?|token|credentials?|api[_-]?key|access[_-]?key|auth_key|private_?key|(?:signing|encryption|master)_key"
        ),
        example: &["client_secret: '", "x7kq-2wm9-zr4t", "'"],
        judge: secret,
    },
];

#[cfg(test)]
mod tests {
    use super::super::Redactor;
    use super::super::tests::{check, random, untouched};
    use super::*;
    use regex::Regex;

    #[test]
    fn every_rule_finds_its_example_and_only_it() {
        let redactor = Redactor::new();
        for rule in RULES {
            let example = rule.example.concat();
            for text in [
                example.clone(),
                format!("before {example} after"),
                format!("first line\n{example}\nlast line"),
                format!("日本語 {example}"),
                format!("({example})"),
            ] {
                let found = redactor.find(&text);
                let names: Vec<_> = found.iter().map(|(.., name)| *name).collect();
                assert_eq!(names, [rule.name], "in {text:?}: {found:?}");
                let (start, end, _) = found[0];
                let clean = redactor.redact(&text);
                assert!(!clean.contains(&text[start..end]), "{clean}");
                assert!(clean.contains(&format!("[redacted:{}]", rule.name)));
                assert_eq!(redactor.redact(&clean), clean, "twice");
            }
        }
        assert!(RULES.len() >= 60);
        assert_eq!(RULES[PRIVATE_KEY].name, "private-key");
    }

    #[test]
    fn no_name_is_used_twice_and_every_anchor_can_be_found() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(RULES[..index].iter().all(|other| other.name != rule.name));
            assert!(rule.anchors.iter().all(|anchor| anchor.len() >= 3));
            assert!(Regex::new(rule.pattern).is_ok(), "{}", rule.name);
        }
    }

    #[test]
    fn assignments_in_every_notation() {
        check("password = \"hunter2\"", "password = \"[redacted:password]\"");
        check("password: 'letmein'", "password: '[redacted:password]'");
        check("password: hunter2", "password: [redacted:password]");
        check("PASSWORD=hunter2", "PASSWORD=[redacted:password]");
        check("export DB_PASSWORD=letmein", "export DB_PASSWORD=[redacted:password]");
        check("DB_PASS=letmein", "DB_PASS=[redacted:password]");
        check(r#"{"password":"hunter2"}"#, r#"{"password":"[redacted:password]"}"#);
        check(
            r#"{\"password\": \"hunter2\", \"x\": 1}"#,
            r#"{\"password\": \"[redacted:password]\", \"x\": 1}"#,
        );
        check(
            r#"{\\\"password\\\": \\\"hunter2\\\"}"#,
            r#"{\\\"password\\\": \\\"[redacted:password]\\\"}"#,
        );
        check(r#"a\nPASSWORD=hunter2\nB=c"#, r#"a\nPASSWORD=[redacted:password]\nB=c"#);
        check(
            "const password: string = \"hunter2\";",
            "const password: string = \"[redacted:password]\";",
        );
        check("mysql --password=hunter2 db", "mysql --password=[redacted:password] db");
        check("mysql --password hunter2 db", "mysql --password [redacted:password] db");
        check("config['password'] = 'pass word1'", "config['password'] = 'pass word1'");
        check("https://x.y/?password=letmein&a=b", "https://x.y/?password=[redacted:password]&a=b");
        check("Server=x;Password=letmein;Port=1", "Server=x;Password=[redacted:password];Port=1");
        check("password = \"a\\\"b1234\" # x", "password = \"[redacted:password]\" # x");
        check("API_KEY=abcd1234efgh", "API_KEY=[redacted:secret]");
        check("x-api-key: abcd1234efgh", "x-api-key: [redacted:secret]");
        check("apiKey: 'abcd1234efgh'", "apiKey: '[redacted:secret]'");
        check("{\"access_token\": \"abcd1234efgh\"}", "{\"access_token\": \"[redacted:secret]\"}");
        check("client_secret => 'abcd-1234-efgh'", "client_secret => '[redacted:secret]'");
        check("token := \"3f9a1c7e5b2d8064\"", "token := \"[redacted:secret]\"");
    }

    #[test]
    fn urls_and_headers() {
        check("postgres://app:p4ss@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x");
        check("redis://:p4ss@db/0", "redis://:[redacted:url-password]@db/0");
        check("https://u:p@ss@host/", "https://u:[redacted:url-password]@host/");
        let value = random();
        check(
            &format!("Authorization: Bearer {value}"),
            "Authorization: Bearer [redacted:authorization]",
        );
        check(
            &format!("-H \"authorization: token {value}\""),
            "-H \"authorization: token [redacted:authorization]\"",
        );
        check(
            &format!("\\\"Authorization\\\": \\\"Bearer {value}\\\""),
            "\\\"Authorization\\\": \\\"Bearer [redacted:authorization]\\\"",
        );
        check("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]");
    }

    #[test]
    fn key_blocks_in_every_state() {
        let begin = ["-----BEGIN OPENSSH PRIV", "ATE KEY-----"].concat();
        let end = ["-----END OPENSSH PRIV", "ATE KEY-----"].concat();
        let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ";
        let gone = "[redacted:private-key]";
        check(&format!("a\n{begin}\n{line}\n{line}\nabc=\n{end}\nb"), &format!("a\n{gone}\nb"));
        check(&format!("a\n{begin}\n{line}\n{line}"), &format!("a\n{gone}"));
        check(&format!("{begin}\n{line}\n\nThe key above."), &format!("{gone}\n\nThe key above."));
        check(
            &format!("\"k\": \"{begin}\\n{line}\\n{line}\\n{end}\\n\""),
            &format!("\"k\": \"{gone}\\n\""),
        );
        check(
            &format!("     1→{begin}\n     2→{line}\n     3→{end}\n"),
            &format!("     1→{gone}\n"),
        );
        check(&format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\n{line}\n{end}"), gone);
        check(&format!("{begin}\n{}{end}", format!("{line}\n").repeat(200)), gone);
        untouched(&format!("pem.replace('{begin}', '').replace('{end}', '')"));
        untouched(&format!("it starts with {begin} as usual"));
        let public = ["-----BEGIN PUBLIC ", "KEY-----"].concat();
        untouched(&format!("{public}\n{line}\n"));
        let block = ["-----BEGIN PGP PRIV", "ATE KEY BLOCK-----"].concat();
        let block_end = ["-----END PGP PRIV", "ATE KEY BLOCK-----"].concat();
        check(
            &format!("{block}\nVersion: 1\n\n{line}\n=abcd\n{block_end}\n"),
            &format!("{gone}\n"),
        );
    }
}
