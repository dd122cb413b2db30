//! A rule is one kind of secret: its name, how it begins, its pattern, an example.
//!
//! This is the table. A new kind of secret is one entry here, and its example is its test; the
//! example stands in parts, so that this file holds none that a scanner would report.

use super::validators::{
    Candidate, after_a_number, after_an_app_id, after_an_asana_id, after_pat, after_user, anywhere,
    argument, beside_kty, checked_wallet_key, cookie, credential, directive, login, mixed,
    mixed_token, named_or_alone, password, password_line, pgpass, pin, random_value, secret, seed,
    service_key, session_id, token, typed, url_password, url_token, value_of_name, wallet_key,
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
    pub(super) validator: fn(&Candidate) -> bool,
}

impl Rule {
    /// Whether a secret of this kind may be cut in two by a line's end or by quotes and is known
    /// all the same: its beginning names it, and it is one run.
    pub(super) fn can_be_cut(&self) -> bool {
        let one_run = !self.pattern.contains(r"[ \t") && !self.pattern.contains("://");
        one_run && !self.anchors.is_empty() && !self.pattern.contains(r"\s")
    }

    /// Whether what is secret may begin or end far behind the anchor.
    pub(super) fn is_long(&self) -> bool {
        [
            "private-key", "private-key-body", "ssh2-private-key", "rsa-xml-key", "putty-key",
            "digest-response", "jwt",
        ]
        .contains(&self.name)
    }

    /// Whether its anchor stands within the run that is the secret.
    pub(super) fn is_whole_run(&self) -> bool {
        ["terraform-token", "azure-client-secret", "private-key-body", "maxmind-key"]
            .contains(&self.name)
    }
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
            r#")(?:_base(?:64)?|_value|_hex|_b64|_string|_raw|_prod|_production|_dev|_staging)?s?[0-9]{0,2}(?:\\{0,7}["'`])?[\])]?"#,
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

/// Writes the table: for each kind of secret its name, its validator and its anchors; then its
/// pattern; then its example.
macro_rules! rules {
    ($(
        $name:literal $validator:ident [$($anchor:literal),*]
        $pattern:expr,
        [$($part:literal),+];
    )+) => {
        &[$(Rule {
            name: $name,
            anchors: &[$($anchor),*],
            pattern: $pattern,
            example: &[$($part),+],
            validator: $validator,
        }),+]
    };
}

/// The built-in rules; where two match at one place, the first names the secret.
pub const RULES: &[Rule] = rules! {
    // Blocks, also when cut off, printed with line numbers, or written with `\n` in a JSON string.
    "private-key" anywhere ["-----BEGIN "]
        concat!(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[ \t\r\n|>+,]|\\{1,4}[nrt]|[0-9]{1,5}(?:→|\t|:)|\\{0,7}[\x22'])*",
            r"(?:[A-Za-z0-9+/]{16,}={0,3}|[A-Z][A-Za-z-]{2,20}: [^\r\n\\]+))+",
            r"(?:(?:[ \t\r\n|>+,]|\\{1,4}[nrt]|[0-9]{1,5}(?:→|\t|:)|\\{0,7}[\x22']|=?[A-Za-z0-9+/]{1,15}={0,2})*",
            r"-----END [A-Z0-9 ]{0,40}-----)?",
        ),
        ["-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEpAIBAAKCAQEA7bq0\nabc=\n-----END RSA PRIV",
         "ATE KEY-----"];
    "jwt" token ["eyJ"]
        r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{10,})?|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,})",
        ["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
         ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"];
    // Clouds.
    "aws-access-key-id" token ["AKIA", "ASIA", "ABIA", "ACCA"]
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        ["AKIA", "Z7Q2M4W8X1C5V9B3"];
    "aws-secret-key" mixed ["secret"]
        r#"(?i)secret[_-]?(?:access[_-]?)?key["'\\]{0,8}[ \t]{0,8}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|\z)"#,
        ["aws_secret_access_key = ", "wJalrXUtnFEMI0K7MDENGxbPxRfiCYq8vT2mLs5e"];
    "aws-secret-beside-id" mixed ["AKIA", "ASIA", "access-key-id]"]
        r#"(?:(?:AKIA|ASIA)[A-Z0-9]{16}|access-key-id\])[\s,;:|"'\\]{1,12}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9+=]|\z)"#,
        ["deploy,[redacted:aws-access-key-id],", "wJalrXUtnFEMI0K7MDENGxbPxRfiCYq8vT2mLs5e"];
    "aws-mws-token" anywhere ["amzn.mws."]
        r"amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        ["amzn.mws.", "3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"];
    "aws-session-token" mixed ["session_token", "sessiontoken"]
        r#"(?i)session_?token["'\\]{0,8}[ \t]{0,8}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9/+=]{100,})"#,
        ["aws_session_token=", "IQoJb3JpZ2luX2VjEPr3x9Tq7Vn2Lw8Zk4Rm6Yc1Hd5Gs0Jf",
         "IQoJb3JpZ2luX2VjEPr3x9Tq7Vn2Lw8Zk4Rm6Yc1Hd5Gs0Jf", "Ab3De5Gh7"];
    "google-api-key" token ["AIza"]
        r"AIza[A-Za-z0-9_-]{35}",
        ["AIza", "SyD3x8Kq1Lm5Np7Rt9Vw2Zb4Cd6Ef8Gh0Jk"];
    "google-oauth-token" token ["ya29.", "1//0"]
        r"(?:ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})",
        ["ya29.", "a0AfH6SMBx7Kq2Wm9Zr4Tn8Yc1Vd5"];
    "google-client-secret" token ["GOCSPX-"]
        r"GOCSPX-[A-Za-z0-9_-]{20,}",
        ["GOCSPX", "-k3Jx8Lm2Qw7Zn5Rt9Vb4Yc1Hd6Gf"];
    "gcp-service-account" anywhere ["private_key_id"]
        r#"private_key_id\\{0,7}["'][ \t]{0,4}:[ \t]{0,4}\\{0,7}["']([0-9a-f]{40})"#,
        [r#""private_key_id": ""#, "3f9a1c7e5b2d8064", "9e1f3a7c5d2b8064f1a3c5e7", r#"""#];
    "azure-storage-key" anywhere ["AccountKey=", "SharedAccessKey="]
        r"(?i)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})",
        ["AccountKey=", "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2=="];
    "azure-sas" token ["sig="]
        r"sig=([A-Za-z0-9%/+]{40,}={0,2})",
        ["https://x.blob.core.windows.net/c?sv=2024&sig=",
         "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2%3D"];
    "signed-url" mixed ["x-amz-signature=", "x-goog-signature=", "x-amz-security-token=", "&signature="]
        r"(?i)(?:x-amz-signature|x-goog-signature|x-amz-security-token|&signature)=([A-Za-z0-9%/+_~.-]{32,}={0,2})",
        ["https://b.s3.amazonaws.com/k?X-Amz-Signature=",
         "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    "url-code" random_value ["?code=", "&code="]
        r"[?&]code=([A-Za-z0-9%/_.~+-]{20,}={0,2})",
        ["https://acme.azurewebsites.net/api/x?code=", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N=="];
    "azure-client-secret" anywhere ["7Q~", "8Q~"]
        r"[78]Q~[A-Za-z0-9_~.-]{31,34}",
        ["aB3", "8Q~", "dEfGh1JkLmN0pQrStUvWxYz2345678_abc"];
    "digitalocean-token" token ["dop_v1_", "doo_v1_", "dor_v1_"]
        r"do[opr]_v1_[0-9a-f]{64}",
        ["dop_v1_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    "cloudflare-token" mixed ["cloudflare", "cf_api", "v1.0-"]
        r#"(?:v1\.0-[0-9a-f]{24}-[0-9a-f]{146}|(?i:cloudflare|cf_api)[A-Za-z0-9_ .-]{0,24}["'\\]{0,8}[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([A-Za-z0-9_-]{37,53})(?:[^A-Za-z0-9_-]|\z))"#,
        ["CLOUDFLARE_API_TOKEN=", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"];
    "heroku-key" anywhere ["heroku", "HRKU-"]
        r#"(?:HRKU-[A-Za-z0-9_-]{36,}|(?i:heroku)[A-Za-z0-9_ .-]{0,24}["'\\]{0,8}[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}["'\\]{0,8}([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}))"#,
        ["HEROKU_API_KEY=", "3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"];
    "netlify-token" token ["nfp_"]
        r"nfp_[A-Za-z0-9]{36,}",
        ["nfp_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"];
    "supabase-key" token ["sbp_", "sb_secret_"]
        r"(?:sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})",
        ["sbp_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    "planetscale-token" token ["pscale_"]
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
        ["pscale_", "tkn_x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"];
    "databricks-token" token ["dapi"]
        r"dapi[0-9a-f]{32}(?:-[0-9])?",
        ["dapi", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "terraform-token" anywhere [".atlasv1."]
        r"\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        ["x7Kq2Wm9Zr4Tn8.atlas", "v1.",
         "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ux7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf"];
    "pulumi-token" token ["pul-"]
        r"pul-[0-9a-f]{40}",
        ["pul-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    "vault-token" token ["hvs.", "hvb.", "hvr."]
        r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
        ["hvs.", "CAESIx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf"];
    "doppler-token" token ["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."]
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        ["dp.pt.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nk"];
    "1password-token" token ["ops_eyJ"]
        r"ops_eyJ[A-Za-z0-9+/=_-]{60,}",
        ["ops_", "eyJx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6"];
    "1password-secret-key" token ["A3-"]
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b",
        ["A3-", "7KQ2WM-9ZR4TN8YC1V-D5LP3-BS6HF-0JG9E"];
    "yandex-static-key" mixed_token []
        r"YC[A-Za-z0-9_-]{38}(?:[^A-Za-z0-9_-]|\z)",
        ["YC", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4"];
    "clickhouse-key" mixed_token ["4b1d"]
        r"4b1d[A-Za-z0-9]{38}\b",
        ["4b1d", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4"];
    "maxmind-key" anywhere ["_mmk"]
        r"_mmk\b",
        ["x7Kq2W_m9Zr4Tn8Yc1Vd5", "Lp3Bs6Hf0Jg9Ea2_mmk"];
    "k3s-token" token ["K10"]
        r"K10[0-9a-z]{20,}::[a-z]+:[A-Za-z0-9]{8,}",
        ["K10", "3f9a1c7e5b2d80649e1f3a7c5d2b8064", "::server:3f9a1c7e5b2d8064"];
    "wireguard-key" anywhere ["wg genkey", "wg genpsk"]
        r"wg gen(?:key|psk)[^\r\n]{0,80}\s+([A-Za-z0-9+/]{43}=)",
        ["$ wg genkey\n", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4NkQwR="];
    "age-secret-key" token ["AGE-SECRET-KEY-"]
        r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}",
        ["AGE-SECRET-", "KEY-1QZX7KQ2WM9ZR4TN8YC0VD5LP3S6HF0JG9EA2U4N8K7Q2W9Z4T8Y0V5L3S6F"];
    // Code and packages.
    "github-token" token ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]
        r"gh[pousr]_[A-Za-z0-9]{30,}",
        ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"];
    "github-fine-grained-token" token ["github_pat_"]
        r"github_pat_[A-Za-z0-9_]{22,}",
        ["github_pat_", "11ABCDEFG0x7Kq2Wm9Zr4T_n8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"];
    "gitlab-token" token [
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-",
            "glrtr-", "GR1348941"]
        r"(?:gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent)-|GR1348941)[A-Za-z0-9_.-]{20,}",
        ["glpat-", "x7Kq2Wm9Zr4Tn8Yc1Vd5"];
    "atlassian-token" token ["ATATT3", "ATCTT3", "ATBB"]
        r"(?:AT[AC]TT3[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{32}\b)",
        ["ATATT3", "xFfGF0x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B=4E1F"];
    "npm-token" token ["npm_"]
        r"npm_[A-Za-z0-9]{30,}",
        ["npm_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"];
    "pypi-token" mixed_token ["pypi-"]
        r"pypi-[A-Za-z0-9_-]{32,}",
        ["pypi-", "AgEIcHlwaS5vcmcCJDNmOWExYzdlLTViMmQtNDA2NA"];
    "crates-io-token" mixed_token ["cio"]
        r"cio[A-Za-z0-9]{32}\b",
        ["cio", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9"];
    "rubygems-key" token ["rubygems_"]
        r"rubygems_[0-9a-f]{48}",
        ["rubygems_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e"];
    "nuget-key" token ["oy2"]
        r"oy2[a-z0-9]{43}\b",
        ["oy2", "x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9ea2ub4nk8qw"];
    "docker-token" token ["dckr_pat_", "dckr_oat_"]
        r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
        ["dckr_pat_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6H"];
    "sourcegraph-token" token ["sgp_"]
        r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}",
        ["sgp_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    "buildkite-token" token ["bkua_"]
        r"bkua_[0-9a-f]{40}",
        ["bkua_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    // Models.
    "anthropic-key" mixed_token ["sk-ant-"]
        r"sk-ant-[A-Za-z0-9_-]{20,}",
        ["sk-ant-", "api03-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N-AA"];
    "openrouter-key" token ["sk-or-"]
        r"sk-or-(?:v1-)?[0-9a-f]{40,}",
        ["sk-or-v1-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    "openai-key" mixed_token ["sk-"]
        r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}",
        ["sk-proj-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"];
    "xai-key" token ["xai-"]
        r"xai-[A-Za-z0-9]{40,}",
        ["xai-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "groq-key" token ["gsk_"]
        r"gsk_[A-Za-z0-9]{40,}",
        ["gsk_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "hugging-face-token" token ["hf_", "api_org_"]
        r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
        ["hf_", "x7KqWmZrTnYcVdLpBsHfJgEaUbNkQwRtYu"];
    "replicate-token" token ["r8_"]
        r"r8_[A-Za-z0-9]{30,}",
        ["r8_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2U"];
    "perplexity-key" token ["pplx-"]
        r"pplx-[A-Za-z0-9]{40,}",
        ["pplx-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "nvidia-key" token ["nvapi-"]
        r"nvapi-[A-Za-z0-9_-]{40,}",
        ["nvapi-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "cerebras-key" token ["csk-"]
        r"csk-[a-z0-9]{40,}",
        ["csk-", "x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9ea2ub4n8lw"];
    "langsmith-key" token ["lsv2_"]
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
        ["lsv2_", "pt_3f9a1c7e5b2d80649e1f3a7c5d2b8064_f1a3c5e73f"];
    "tavily-key" token ["tvly-"]
        r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}",
        ["tvly-", "dev-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0J"];
    // Services.
    "slack-token" mixed_token ["xox", "xapp-"]
        r"(?:xox[a-z](?:\.xox[a-z])?-|xapp-)[A-Za-z0-9-]{10,}",
        ["xoxb-", "2438-5901-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"];
    "slack-webhook" mixed ["hooks.slack.com/"]
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{20,})",
        ["https://hooks.slack.com/", "services/T02AB3CD4/B05EF6GH7/x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"];
    "discord-webhook" anywhere ["/api/webhooks/"]
        r"/api/webhooks/([0-9]{15,20}/[A-Za-z0-9_-]{40,})",
        ["https://discord.com/api/",
         "webhooks/123456789012345678/x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "discord-bot-token" token []
        r"[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        ["MTIzNDU2Nzg5MDEyMzQ1Njc4", ".Gx7Kq2.", "Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lwk"];
    "telegram-bot-token" after_a_number [":AA"]
        r":(AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|\z)",
        ["7123456789", ":AA", "Hx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9"];
    "stripe-key" token ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"]
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
        ["sk_", "live_x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"];
    "square-token" named_or_alone ["sq0atp-", "sq0csp-", "EAAA"]
        r"(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60}\b)",
        ["sq0atp-", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp"];
    "shopify-token" token ["shpat_", "shpca_", "shppa_", "shpss_"]
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        ["shpat_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "twilio-key" token []
        r"(?:SK|AC)[0-9a-f]{32}\b",
        ["SK", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "sendgrid-key" mixed_token ["SG."]
        r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}",
        ["SG.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp", ".3Bs6Hf0Jg9Ea2Ub4N8Lwx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3"];
    "mailgun-key" token ["key-"]
        r"key-[0-9a-f]{32}\b",
        ["key-", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "mailchimp-key" token []
        r"[0-9a-f]{32}-us[0-9]{1,2}\b",
        ["3f9a1c7e5b2d80649e1f3a7c5d2b8064", "-us12"];
    "linear-key" token ["lin_api_", "lin_oauth_"]
        r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
        ["lin_api_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8"];
    "notion-token" token ["ntn_", "secret_"]
        r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
        ["ntn_", "123456789x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub"];
    "postman-key" token ["PMAK-"]
        r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
        ["PMAK-", "3f9a1c7e5b2d80649e1f3a7c-5d2b8064f1a3c5e73f9a1c7e5b2d80649e"];
    "figma-token" token ["figd_", "figu_", "figo_"]
        r"fig[duo]r?_[A-Za-z0-9_-]{38,}",
        ["figd_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8"];
    "grafana-token" token ["glsa_", "glc_", "eyJrIjoi"]
        r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_eyJ[A-Za-z0-9+/=]{40,}|eyJrIjoi[A-Za-z0-9+/]{50,}={0,2})",
        ["glsa_", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9_3f9a1c7e"];
    "sentry-token" token ["sntrys_", "sntryu_"]
        r"(?:sntryu_[0-9a-f]{64}|sntrys_eyJ[A-Za-z0-9+/=_-]{40,})",
        ["sntryu_", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    "new-relic-key" token ["NRAK-", "NRII-", "NRJS-"]
        r"(?:NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9_-]{32}|NRJS-[0-9a-f]{19}\b)",
        ["NRAK-", "X7KQ2WM9ZR4TN8YC1VD5LP3BS6H"];
    "harness-token" token ["pat.", "sat."]
        r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}\b",
        ["pat.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp.3f9a1c7e5b2d80649e1f3a7c.x7Kq2Wm9Zr4Tn8Yc1Vd5"];
    "authress-key" token ["sc_", "ext_", "scauth_", "authress_"]
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{8,32}\.[A-Za-z0-9+/_=-]{24,}",
        ["sc_", "x7kq2wm9zr.t4n8.acc_yc1vd5lp3bs6.hf0jg9ea2ub4nk8qwx7kq2wm9zr4tn8"];
    "launchdarkly-key" token ["sdk-", "api-", "mob-"]
        r"(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
        ["sdk-", "3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"];
    "settlemint-token" mixed_token ["sm_aat_", "sm_pat_", "sm_sat_"]
        r"sm_[aps]at_[A-Za-z0-9]{16,}",
        ["sm_aat_", "x7Kq2Wm9Zr4Tn8Yc"];
    "sidekiq-credential" anywhere ["contribsys__com"]
        r#"(?i)contribsys__com["' ]{0,2}[=:]["' ]{0,2}([0-9a-f]{8}:[0-9a-f]{8})\b"#,
        ["BUNDLE_ENTERPRISE__CONTRIBSYS__COM=", "3f9a1c7e:5b2d8064"];
    "facebook-app-token" after_an_app_id []
        r"[A-Za-z0-9_-]{27,40}(?:[^A-Za-z0-9_-]|\z)",
        ["123456789012345|", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6H"];
    "firebase-token" anywhere [":APA91b"]
        r":(APA91b[A-Za-z0-9_-]{80,})",
        ["x7Kq2Wm:APA91b", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lwx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw"];
    "teamcity-token" token ["eyJ0eXAiOiAiVENWMiJ9."]
        r"eyJ0eXAiOiAiVENWMiJ9\.[A-Za-z0-9_-]{16,}\.[0-9a-f-]{36}",
        ["eyJ0eXAiOiAiVENWMiJ9", ".x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B.3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"];
    "codecov-token" anywhere ["codecov"]
        r"(?i)codecov[^\r\n]{0,80}?[ ](?:-t|--token)[ =]([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        ["bash <(curl -s https://codecov.io/bash) -t ", "3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064"];
    "zhipu-key" mixed_token []
        r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",
        ["3f9a1c7e5b2d80649e1f3a7c5d2b8064", ".x7Kq2Wm9Zr4Tn8Yc"];
    "solana-key" anywhere ["keypair", "secret_key", "secretkey", "secret key", "private_key", "privatekey", "private key", "id.json"]
        r"(?i)(?:keypair|secret[ _]?key|private[ _]?key|id\.json)[^\[\r\n]{0,40}(\[(?:[0-9]{1,3},[ ]?){19,}[0-9]{1,3}\])",
        ["keypair ", "[174,47,154,16,129,193,206,113,199,200,53,22,91,12,99,7,81,44,254,1]"];
    // Services whose tokens say by their first letters whose they are.
    "service-token" mixed_token [
            "fw_", "jina_", "pcsk_", "e2b_", "fc-", "re_", "phx_", "npg_", "tr_dev_", "tr_prod_",
            "sk_knock_", "polar_", "chpt_", "sktsec_", "esecret_", "pnu_", "rdme_", "duffel_",
            "shippo_", "tfp_", "ico-", "EZAK", "EZTK", "dt0c01.", "CFPAT-", "CCIPAT_", "CLOJARS_",
            "FlyV1", "fm1_", "fm2_", "fo1_", "tskey-", "squ_", "sqp_", "sqa_", "xkeysib-",
            "xsmtpsib-", "pat-na1-", "pat-eu1-", "perm:", "AKCp", "cmVmdGtu", "API-", "sha256~",
            "LTAI", "AQVN", "t1.", "sl.", "fio-u-", "FLWSECK", "lip_", "live_", "sgl_", "vercel_",
            "vcp_", "vck_", "vca_", "tok_", "wapi_", "hvpat_", "infra_", "snyk_", "ptr_", "aio_",
            "secret-test-", "secret-sandbox-", "secret-production-", "access-sandbox-",
            "access-production-", "sk-lf-", "pa-", "as-", "AC.", "BSA", "signkey-", "pdl_",
            "sdk_", "rnd_", "cfut_", "cfat_", "cloudsmith_", "dd_", "ddp_", "pd_", "hrku_",
            "rpa_", "lm_", "nr_", "uptr_", "ghe_", "glimt-", "glwt-", "gloas-", "glffct-",
            "sntryi_", "sentry_", "waka_", "lsk_", "ABSK", "bedrock-api-key-", "AQ.", "AIzb",
            "mlsn.", "mg_", "trello_", "ATTA", "asana_", "ak_", "rk_", "fal_", "sbt_", "wrk_",
            "tw_", "SSWS", "nsec1", "xprv", "zprv", "yprv", "cpk_", "ory_", "opsgenie_", "pk_live_",
            "ctp_", "stk_", "sess-", "sess_", "v1.public.", "v2.local.", "v4.local.", "bu_", "sk_",
            "p8e-", "dnkey-", "tk-us-", "tk-eu-", "GOOG1", "ATCTT", "pck_", "nylas_", "wfb_",
            "bws.", "aat_", "pkt_", "cal_live_", "cal_test_", "vtwn_", "hb_", "mp_", "lk_", "unkey_"]
        concat!(
            r"(?:fw_|jina_|pcsk_|e2b_|fc-|re_|phx_|npg_|tr_(?:dev|prod)_|sk_knock_|polar_[a-z]{2,4}_|chpt_|sktsec_",
            r"|esecret_|pnu_|rdme_|duffel_(?:test|live)_|shippo_(?:test|live)_|tfp_|ico-|EZ[AT]K|dt0c01\.[A-Z0-9]{24}\.",
            r"|CFPAT-|CCIPAT_|CLOJARS_|FlyV1[ _]|f[mo][12]_|tskey-(?:auth|api|client|webhook)-|sq[upa]_|xkeysib-|xsmtpsib-|pat-(?:na|eu)1-",
            r"|perm:|AKCp|cmVmdGtu|API-|sha256~|LTAI|AQVN|t1\.|sl\.|fio-u-|FLWSECK(?:_TEST)?-|lip_|live_|sgl_|vercel_|vc[pka]_",
            r"|tok_|wapi_|hvpat_|infra_|snyk_|ptr_|aio_|secret-(?:test|sandbox|production)-|access-(?:sandbox|production)-|sk-lf-",
            r"|pa-|as-|AC\.|BSA|signkey-(?:prod|test|branch)-|pdl_|sdk_|rnd_|cf[ua]t_|cloudsmith_|ddp?_|pd_|hrku_|rpa_|lm_|nr_|uptr_",
            r"|ghe_|gl(?:imt|wt|oas|ffct)-|sntryi_|sentry_|waka_|lsk_|ABSK|bedrock-api-key-|AQ\.|AIzb|mlsn\.|mg_|trello_|ATTA",
            r"|asana_|ak_|rk_|fal_|sbt_|wrk_|tw_|SSWS[ ]|nsec1|[xyz]prv|cpk_|ory_(?:at|rt|pat)_|opsgenie_|pk_live_|ctp_|stk_|sess[-_]|v1\.public\.|v[24]\.local\.|bu_|sk_",
            r"|p8e-|dnkey-|tk-(?:us|eu)-|GOOG1|ATCTT|pck_|nylas_|wfb_|bws\.|aat_|pkt_|cal_(?:live|test)_|vtwn_|hb_|mp_|lk_|unkey_)",
            r"[A-Za-z0-9_=:/+-]{20,}(?:\.[A-Za-z0-9_=/+-]{8,}){0,4}",
        ),
        ["tskey-auth-", "kq2Wm9Zr4Tn8CNTRL-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf"];
    "asana-token" after_an_asana_id []
        r"[0-9a-f]{32}\b",
        ["1/1204815162342108:", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "wallet-import-key" checked_wallet_key []
        r"[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}\b",
        ["5Kb8kLf9zgWQnogidDA76MzPL6", "TsZZY36hWXMssSzNydYXYB9KF"];
    "airtable-token" after_pat []
        r"[0-9a-f]{64}\b",
        ["pat", "x7Kq2Wm9Zr4Tn8.", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    "paypal-token" mixed_token ["access_token$"]
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
        ["access_token$", "production$x7kq2wm9zr4tn8yc$", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "facebook-token" mixed_token ["EAA"]
        r"EAA[A-Za-z0-9]{60,}",
        ["EAA", "Cx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4NkQwRtYuIoPaSdFgHjKlZx7Kq2Wm9Zr4"];
    "mapbox-token" token ["sk.eyJ", "tk.eyJ"]
        r"[st]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}",
        ["sk.", "eyJ1IjoibWVtdHJlZSIsImEiOiJjbHgifQ", ".x7Kq2Wm9Zr4Tn8Yc1Vd5Lp"];
    "twitter-bearer" token ["AAAAAAAAAAAAAAAAAAAAA"]
        r"A{20,22}[A-Za-z0-9%]{60,}",
        ["AAAAAAAAAAAAAAAAAAAAA", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf%3Dx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N"];
    "teams-webhook" mixed ["webhook.office.com/", "hooks.zapier.com/", "hook.eu1.make.com/",
            "hook.us1.make.com/", "outlook.office.com/webhook/", "logic.azure.com"]
        r"(?:webhook\.office\.com|hooks\.zapier\.com|hook\.[a-z0-9]{3}\.make\.com|outlook\.office\.com/webhook|logic\.azure\.com)(/[A-Za-z0-9_@/.-]{16,})",
        ["https://acme.webhook.", "office.com/webhookb2/3f9a1c7e-5b2d-4064-9e1f-3a7c5d2b8064@x/IncomingWebhook/3f9a1c7e5b2d80649e1f3a7c5d2b8064/9e1f"];
    "kubeadm-token" anywhere ["--token ", "--token="]
        r"--token[ =]([a-z0-9]{6}\.[a-z0-9]{16})\b",
        ["kubeadm join --token ", "abc1x7.", "kq2wm9zr4tn8yc1v"];
    "otp-secret" anywhere ["otpauth://"]
        r"(?i)otpauth://[^\s]+?secret=([A-Z2-7]{12,})",
        ["otpauth://totp/acme:me?secret=", "JBSWY3DPEHPK3PXP", "&issuer=acme"];
    "service-key" service_key [
            "adafruit", "adobe", "aiven", "algolia", "amplitude", "asana", "assemblyai", "auth0", "beamer",
            "bitbucket", "bittrex", "bugsnag", "codecov", "cohere", "coinbase", "confluent", "contentful",
            "datadog", "deepgram", "discord", "docusign", "droneci", "dropbox", "elevenlabs", "etsy", "facebook",
            "fastly", "finicity", "finnhub", "flickr", "freshbooks", "gitter", "gocardless", "hetzner",
            "honeycomb", "hubspot", "intercom", "jira", "kraken", "kucoin", "launchdarkly", "linkedin",
            "linode", "looker", "mailchimp", "mailgun", "mandrill", "mapbox", "mattermost", "meraki",
            "messagebird", "mixpanel", "netlify", "newrelic", "new_relic", "nexmo", "nytimes", "okta",
            "openweather", "opsgenie", "pagerduty", "plaid", "plivo", "postmark", "pusher", "rapidapi",
            "rollbar", "scaleway", "segment_", "sendbird", "snyk", "sonar", "sparkpost", "spotify",
            "squarespace", "stytch", "sumologic", "sumo_", "travis", "twilio", "twitch", "twitter", "typeform",
            "vonage", "vultr", "wakatime", "yandex", "zendesk", "zhipu", "zoom_"]
        concat!(
            r#"(?i)[a-z0-9]{3,12}(?:[a-z0-9_.-]{0,32}["'`\])]{0,2}[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}["'`]{0,2}"#,
            r"|(?:'s)?(?:[ \t]+[a-z-]+){0,3}?[ \t]+(?:key|token|secret|api|credential|dsn)s?(?:[ \t]+is)?[ \t]{0,2}[:=]?[ \t]{1,3}[\x22'`]?)",
            r"([A-Za-z0-9_=-]{20,80})(?:[^A-Za-z0-9_=+-]|\z)",
        ),
        ["datadog key is ", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    // Keys without the lines that name them.
    "private-key-body" anywhere ["IBAAKCA", "IBAAKBg", "IBADANBgkqhkiG9w0BAQEFAAS", "MHcCAQEEI",
            "MIGHAgEAMBMGByqGSM49", "MIGkAgEBBD", "MC4CAQAwBQYDK2Vw", "b3BlbnNzaC1rZXktdjE",
            "MIIBSwIBADCCASw", "MIGTAgEAMBMGByqGSM49", "lQOYB", "lQPGB", "lQIGB", "lQHYB"]
        concat!(
            r"(?:IBAAK(?:CA|Bg)|IBADANBgkqhkiG9w0BAQEFAAS|MHcCAQEEI|MIGHAgEAMBMGByqGSM49|MIGkAgEBBD",
            r"|MC4CAQAwBQYDK2Vw|b3BlbnNzaC1rZXktdjE|MIIBSwIBADCCASw|MIGTAgEAMBMGByqGSM49|lQ(?:OY|PG|IG|HY)B)[A-Za-z0-9+/]{12,}={0,2}",
            r"(?:(?:[ \t\r\n|>+,]|\\{1,4}[nrt]|[0-9]{1,5}(?:→|\t|:)|\\{0,7}[\x22'])+[A-Za-z0-9+/]{16,}={0,2})*",
            r"(?:(?:\r?\n|\\{1,4}n)[A-Za-z0-9+/]{1,15}={1,2})?",
        ),
        ["MIIEpAIBAAKCAQEA", "7bq0x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N\nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nk="];
    "ssh2-private-key" anywhere ["---- BEGIN SSH2"]
        r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?:(?:\s|\\{1,4}[nr])+(?:[A-Za-z-]{2,20}: [^\r\n]+|[A-Za-z0-9+/]{16,}={0,2}))+(?:(?:\s|\\{1,4}[nr])*[A-Za-z0-9+/]{0,16}={0,2}(?:\s|\\{1,4}[nr])+---- END SSH2 (?:ENCRYPTED )?PRIVATE KEY ----)?",
        ["---- BEGIN SSH2 ENCRYPTED PRIV", "ATE KEY ----\nP2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue3JzYS1wa2\n---- END SSH2 ENCRYPTED PRIV", "ATE KEY ----"];
    "putty-key" anywhere ["Private-Lines:"]
        r"(?i)Private-Lines:[ \t]*[0-9]+((?:(?:[ \t\r\n]|\\{1,4}[nr])+[A-Za-z0-9+/]{8,}={0,2})+(?:(?:[ \t\r\n]|\\{1,4}[nr])+Private-(?:MAC|Hash):[ \t]*[0-9a-f]{20,})?)",
        ["Private-Lines: 1\n", "AAAAgQCx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf", "\nPrivate-MAC: 3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7"];
    "rsa-xml-key" anywhere ["<RSAKeyValue>", "<DSAKeyValue>", "<InverseQ>", "<D>", "<DP>", "<DQ>"]
        r"<(?:[RD]SAKeyValue>(?:[^<]|<[^DX/]|</(?:Modulus|Exponent|P|Q)>)*(<(?:P|Q|DP|DQ|InverseQ|D|X)>[^\r]{20,})</[RD]SAKeyValue>|(?:InverseQ|DP|DQ|D)>([A-Za-z0-9+/=\r\n ]{40,}))",
        ["<RSAKeyValue><Modulus>AQAB</Modulus><D>", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N", "</D></RSAKeyValue>"];
    "jwk" beside_kty [r#""d""#, r#""k""#, r#""p""#, r#""q""#, r#""dp""#, r#""dq""#, r#""qi""#,
            r#""d\"#, r#""k\"#, r#""p\"#, r#""q\"#, r#""dp\"#, r#""dq\"#, r#""qi\"#]
        r#""(?:d[pq]?|k|p|q|qi)\\{0,3}"[ \t]{0,4}:[ \t]{0,4}\\{0,3}"([A-Za-z0-9_-]{16,})"#,
        [r#"{"kty":"OKP","crv":"Ed25519","d":""#, "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", r#"","x":"y"}"#];
    "wallet-key" wallet_key ["private key", "private_key", "privatekey", "wif", "ethereum"]
        r"(?i)(?:(?:private[ _]?key|wif|ethereum)[A-Za-z_ ]{0,16}[\x22'\\]{0,4}[ \t]{0,2}(?:is|[:=])?[ \t]{0,3}[\x22'\\]{0,4}((?:0x)?[0-9a-f]{64}\b|[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}\b))",
        ["ethereum private key: 0x", "3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c"];
    // What stands in an address, a header or an assignment.
    "url-password" url_password ["://"]
        r#"://[^\s/:@"'`<>\\,;()\[\]{}]*:([^\s/"'`<>\\,]+)@[A-Za-z0-9\[]"#,
        ["postgres://app:", "hunter2", "@db.internal/main"];
    "url-token" url_token ["://"]
        r#"://([A-Za-z0-9_.~-]{16,})@[A-Za-z0-9\[]"#,
        ["https://", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B", "@git.example.net/x.git"];
    "authorization" credential ["authorization"]
        r#"(?i)authorization["'\\\])]{0,8}[ \t]{0,3}[:=,][ \t]{0,3}["'`\\]{0,8}(?:[A-Za-z][A-Za-z0-9-]{1,20}(?:[ \t]{1,3}|[ \t]+[a-z]{2,8}=["\\]{0,4}))?([A-Za-z0-9._~+/=:-]{8,})"#,
        ["Authorization: Basic ", "YXBwOmh1bnRlcjI="];
    "bearer" credential ["bearer "]
        r"(?i)bearer[ \t]{1,3}([A-Za-z0-9._~+/=-]{16,})",
        ["curl -H 'X-Auth: Bearer ", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B", "'"];
    "digest-response" anywhere ["digest username"]
        r#"(?i)digest username=[^\r\n]+?response=["\\]{0,4}([0-9a-f]{16,128})"#,
        [r#"Digest username="me", realm="x", nonce="y", response=""#, "3f9a1c7e5b2d80649e1f3a7c5d2b8064", r#"""#];
    "sasl-login" mixed ["AUTH PLAIN ", "AUTHENTICATE PLAIN "]
        r"AUTH(?:ENTICATE)? PLAIN ([A-Za-z0-9+/]{12,}={0,2})",
        ["AUTH PLAIN ", "AHRlc3QAaHVudGVyMmh1bnRlcjI="];
    "saml-response" anywhere ["SAMLResponse", "SAMLRequest"]
        r#"SAMLRe(?:sponse|quest)["']?[ ]{0,2}[=:][ ]{0,2}["']?([A-Za-z0-9%+/]{60,}={0,2})"#,
        ["SAMLResponse=", "PHNhbWxwOlJlc3BvbnNlIHhtbG5zOnNhbWxwPSJ1cm46b2FzaXM6bmFtZXM6dGM6U0FNTA"];
    "cookie-jar" random_value ["TRUE\t/", "FALSE\t/", "TRUE\\t/", "FALSE\\t/", "TRUE /", "FALSE /"]
        r"(?:TRUE|FALSE)(?:[ \t]|\\t)+/[^\s\\]*(?:[ \t]|\\t)+(?:TRUE|FALSE)(?:[ \t]|\\t)+[0-9]+(?:[ \t]|\\t)+[^\s\\]+(?:[ \t]|\\t)+([^\s\\\x22]{16,})",
        [".acme.test\tTRUE\t/\tTRUE\t1790000000\tsession\t", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"];
    "cookie" cookie ["cookie"]
        r#"(?i)cookie2?["'\\]{0,8}[ \t]{0,2}[:=,][ \t]{0,3}(?:["'\\]{0,8}value["'\\]{0,8}[ \t]{0,2}:[ \t]{0,2})?["'\\]{0,8}([^\r\n"'\\]{8,})"#,
        ["Cookie: theme=dark; session=", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"];
    "session-id" session_id ["PHPSESSID", "JSESSIONID", "ASPSESSIONID", "ASP.NET_SessionId",
            "connect.sid", "laravel_session", "sessionid=", "session=", "_session=", "remember_token=",
            "sid=", "csrftoken=", "xsrf-token", "csrf-token", "auth_session=", ".AspNetCore.Cookies",
            ".ASPXAUTH", "jenkins-crumb", "ci_session", "_session_id"]
        r#"(?i)(?:PHPSESSID|JSESSIONID|ASPSESSIONID[A-Z]*|ASP\.NET_SessionId|connect\.sid|laravel_session|sessionid|_?session|remember_token|sid|csrftoken|[xc]srf-token|auth_session|\.AspNetCore\.Cookies|\.ASPXAUTH|jenkins-crumb|ci_session|_session_id)["'\\]{0,4}[ \t]{0,2}[=:][ \t]{0,2}["'\\]{0,4}([A-Za-z0-9%._~+/:=-]{16,})"#,
        ["PHPSESSID=", "x7kq2wm9zr4tn8yc1vd5lp3bs6"];
    "netrc" password_line ["login "]
        r"(?i)login[ \t]+\S+(?:[ \t]+|\s*\n\s*)password[ \t]+(\S{3,})",
        ["machine api.example.net login me password ", "Blau7Walkran"];
    "pgpass" pgpass [":5432:", ":5433:", ":6432:", ":*:", ":3306:", ":25060:"]
        r":(?:5432|5433|6432|25060|3306|\*):[^\s:/]+:[^\s:/]+:([^\s:\x22\x27`]{4,})",
        ["db.example.net:5432:shop:app:", "Blau7Walkran"];
    "sql-password" password_line ["identified by", "identified with", "password '", "password \"",
            "password = '", "encrypted password"]
        r#"(?i)(?:identified (?:with [a-z0-9_]+ )?by|(?:encrypted )?password(?: =)?)[ \t]+(?:password[ \t]+)?\\{0,3}['"]([^'"\\\r\n]{4,})\\{0,3}['"]"#,
        ["ALTER USER app IDENTIFIED BY '", "Blau7Walkran", "'"];
    "secure-string" password_line ["ConvertTo-SecureString"]
        r#"(?i)ConvertTo-SecureString(?:[ \t]+-[A-Za-z]+)*[ \t]+\\{0,3}["']([^"'\\\r\n]{4,})"#,
        ["ConvertTo-SecureString \"", "Blau7Walkran", "\" -AsPlainText"];
    "login" login ["credential", "creds", "login:", "log in with", "log in as", "login with", "login as", "sign in with", "sign in as", "logindaten",
            "zugangsdaten", "identifiants", "credenciales", "username/password", "user/pass"]
        r#"(?i)(?:credentials?|creds|(?:log|sign) ?in (?:with|as)|login|logindaten|zugangsdaten|identifiants|credenciales|user(?:name)?/pass(?:word)?)(?:[ \t]+(?:are|is|for [\w.-]+|sind))?[ \t]{0,2}:?[ \t]{1,3}["'`]?[A-Za-z0-9._@+-]{2,64}[ \t]?[/:|][ \t]?([^\s"'`,;/]{5,64})"#,
        ["creds: admin / ", "Blau7Walkran"];
    "login-call" argument ["auth=(", "auth = (", "basicauth(", ".login(", "basic_auth("]
        r#"(?i)(?:auth ?= ?\(|basic_?auth\(|\.login\()[ ]?\\{0,3}["'][^"'\\\r\n]{1,64}\\{0,3}["'],[ ]?\\{0,3}["']([^"'\\\s]{5,})\\{0,3}["']"#,
        ["requests.get(u, auth=('app', '", "Blau7Walkran", "'))"];
    "connect-call" argument ["mysqli(", "mysqli_connect(", "mysql_connect(", "PDO(", "getConnection(", "pg_connect("]
        r#"(?i)(?:mysqli?(?:_connect)?|pdo|getconnection)\((?:[ ]?\\{0,3}["'][^"'\\\r\n]*\\{0,3}["'],){2}[ ]?\\{0,3}["']([^"'\\\s]{5,})\\{0,3}["']"#,
        ["new mysqli('db', 'app', '", "Blau7Walkran", "', 'shop');"];
    "oracle-login" argument ["jdbc:oracle:"]
        r#"jdbc:oracle:[a-z0-9]+:[^\s/@:"']{1,64}/\\{0,3}"?([^\s@"'/\\]{4,})"?@"#,
        ["jdbc:oracle:thin:app/", "Blau7Walkran", "@//db:1521/shop"];
    "impacket-login" argument ["secretsdump", "psexec.py", "wmiexec", "smbexec", "atexec", "dcomexec", "mssqlclient", "getuserspns", "getnpusers", "smbclient.py"]
        r#"(?i)(?:secretsdump|psexec|wmiexec|smbexec|atexec|dcomexec|mssqlclient|getuserspns|getnpusers|smbclient)(?:\.py)?(?:[ \t]+-\S+)*[ \t]+\\{0,3}["']?[\w.-]+/[\w.$-]+:\\{0,3}["']?([^\s"'@\\]{4,})"#,
        ["secretsdump.py acme/admin:'", "Blau7Walkran", "'@10.0.0.1"];
    "typed-password" typed ["send \"", "send -- \"", "send \\\"", "sendline('", "sendline(\""]
        r#"send(?:line\(| --)? ?\\{0,3}["']([^"'\\\r\n\s]{6,})"#,
        ["expect -c 'spawn ssh x; send \"", "Blau7Walkran", "\\r\"'"];
    "app-password" anywhere ["app password", "app-password", "app_password", "apppassword", "app-specific", "app passwort", "apppasswort"]
        r#"(?i)app[ _-]?(?:specific[ _-])?passwor[dt](?:["' ]{0,3}(?:[:=]|is|ist|lautet)["' ]{0,3})((?:[a-z]{4}[ -]){3}[a-z]{4})\b"#,
        ["app password: ", "hqwd kzvm trnb xeyf"];
    "rails-master-key" anywhere ["master.key", "master_key"]
        r#"(?i)master[._]key["' ]{0,3}[:=>]{1,2}["' ]{0,3}([0-9a-f]{32})\b"#,
        ["config/master.key: ", "3f9a1c7e5b2d80649e1f3a7c5d2b8064"];
    "ftp-pass" after_user ["PASS "]
        r"PASS ([^\s\\]{5,64})",
        ["USER me\nPASS ", "Blau7Walkran", "\n"];
    "pin" pin ["PIN"]
        r#"PIN(?: ?(?:code|number|is|ist|lautet))*["'\\]{0,2}[ \t]{0,2}[:=]?[ \t]{1,3}["'\\]{0,2}([0-9]{4,8})\b"#,
        ["my PIN is ", "471138"];
    "shadow-hash" anywhere [":$6$", ":$5$", ":$y$", ":$1$", ":$2y$", ":$2b$", ":$apr1$", ":{SSHA}"]
        r":(\$(?:6|5|y|1|2y|2b|apr1)\$[A-Za-z0-9./$=,]{20,}|\{SSHA\}[A-Za-z0-9+/=]{24,})",
        ["root:", "$6$x7Kq2Wm9$", "Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6", ":19000:"];
    "password-hash" anywhere ["$2a$", "$2b$", "$2y$", "$6$", "$5$", "$y$", "$1$", "$apr1$", "$argon2"]
        concat!(
            r"(?:\$2[aby]\$[0-9]{2}\$[A-Za-z0-9./]{53}",
            r"|\$6\$(?:rounds=[0-9]+\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{86}",
            r"|\$5\$(?:rounds=[0-9]+\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{43}",
            r"|\$y\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{1,86}\$[A-Za-z0-9./]{43}",
            r"|\$(?:apr)?1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}",
            r"|\$argon2(?:id|i|d)\$[A-Za-z0-9=,$+/]{40,})",
        ),
        ["$2b$", "12$x7Kq2Wm9Zr4Tn8Yc1Vd5Lu3Bs6Hf0Jg9Ea2Ub4NkQw8RtYuIoPaSd"];
    "wifi-code" anywhere ["WIFI:"]
        r"WIFI:(?:[A-Z0-9]{1,3}:(?:[^;\\\r\n]|\\[^\r\n])*;){0,6}?P:((?:[^;\\\r\n]|\\[^\r\n]){4,});",
        ["WIFI:S:guest;T:WPA;P:", "Blau7Walkran", ";;"];
    "two-factor-seed" seed ["2fa", "totp", "mfa ", "mfa_", "two-factor", "authenticator"]
        concat!(
            r"(?i)(?:2fa|totp|mfa|two-factor|authenticator)(?:[ _-](?:secret|seed|key|code|setup|backup)){1,3}",
            r#"["'\\]{0,3}(?:[ ]is)?[ \t]{0,2}[:=]?[ \t]{0,3}["'`\\]{0,3}"#,
            r"((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{2,4}\b|[A-Z2-7]{16,64}\b)",
        ),
        ["2FA secret: ", "JBSW Y3DP EHPK 3PXP"];
    "directive-password" directive ["passphrase ", "password "]
        r#"(?i)(?:passphrase|password)[ \t]{1,4}["'\\]{0,3}([^\s"'\\]{6,64})"#,
        ["IdentityPassphrase ", "Blau7Walkran"];
    "xml-secret" value_of_name [
            "password>", "passwd>", "pwd>", "passphrase>", "secret>", "token>", "apikey>",
            "api_key>", "api-key>", "accesskey>", "secretkey>", "secret_key>", "privatekey>",
            "private_key>", "authkey>"]
        r"(?i)(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access_?key|secret_?key|private_?key|authkey)>\s{0,8}(?:<!\[CDATA\[)?([^<>\s\]]{4,})\s{0,8}(?:\]\]>)?</",
        ["<DbPassword>", "Blau7Walkran", "</DbPassword>"];
    "named-value" value_of_name [
            "password\"", "passwd\"", "pwd\"", "secret\"", "token\"", "api_key\"", "apikey\"",
            "_key\"", "password'", "token'", "secret'", "password\n", "token\n", "secret\n",
            "_key\n", "apikey\n", "password\\\"", "token\\\"", "secret\\\"", "key\\\"", "password,",
            "token,", "secret,", "password\\n", "token\\n", "secret\\n"]
        r#"(?i)(?:password|passwd|pwd|secret|token|api_?key|_key|key)\\{0,3}["']?[ \t]{0,4}(?:,|\r?\n|\\n)?[ \t\r\n]{0,40}\\{0,3}["']?(?:value|content|default)\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']?([^\s"'\\<>,;}]{5,})"#,
        ["- name: DB_PASSWORD\n  value: ", "Blau7Walkran"];
    "named-argument" value_of_name [
            "password',", "password\",", "passwd',", "secret',", "secret\",", "token',", "token\",",
            "_key',", "_key\",", "apikey',", "apikey\",", "api-key',", "api-key\",", "_pass',", "_pass\","]
        r#"(?i)(?:password|passwd|secret|token|_key|api-?key|_pass)["'],[ \t]{0,4}["']([^"'\\\s]{6,})["']"#,
        ["define('DB_PASSWORD', '", "Blau7Walkran", "');"];
    "env-secret" value_of_name ["ENV ", "setx ", "setenv ", "set -x ", "set -gx ", "set -Ux ", "secrets set ", "secret put ", "env add "]
        r#"(?i)(?:env|setx|setenv|set -g?U?x)[ \t]+[A-Za-z0-9_]*(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|KEY|CREDENTIALS?)[A-Za-z0-9_]{0,8}[ \t]+["'\\]{0,3}([^\s"'\\]{5,})"#,
        ["ENV DB_PASSWORD ", "Blau7Walkran"];
    "password" password [
            "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "_pass", "pass=", "pass:", "pass =", "pass :", "pass\\",
            "pass\"", "pw=", "pw:", "psk=", "psk:", "-pass ", "userpass", "wachtwoord", "contrasena",
            "senha", "mot_de_passe", "motdepasse", "kennwort"]
        assignment!(
            "password|passwd|passphrase|passcode|passwort|pwd|_pass|pass|pw|psk|wachtwoord|contrasena|senha|mot_?de_?passe|kennwort"
        ),
        ["DB_PASSWORD=", "correcthorse"];
    "secret" secret [
            "secret", "token", "credential", "api_key", "api-key", "apikey", "access_key",
            "access-key", "accesskey", "auth_key", "auth-key", "authkey", "private_key",
            "private-key", "privatekey", "signing_key", "signing-key", "encryption_key",
            "encryption-key", "encryptionkey", "master_key", "master-key", "masterkey", "app_key",
            "app-key", "appkey", "account_key", "accountkey", "storage_key", "session_key",
            "license_key", "licensekey", "deploy_key", "webhook_key", "write_key", "ingest_key",
            "subscription-key", "subscription_key", "service_key", "service_role", "functions-key",
            "jwt", "_auth=", "_auth ", "_auth\"", "\"auth\"", "connection_string", "connectionstring",
            "_pat=", "_pat:", "pepper", "_salt", "consumer_key", "server_key", "admin_key", "hmac_key",
            "hmac", "shared_key", "presharedkey", "preshared_key", "preshared-key", "pre-shared-key", "x-auth", "x-session", "x-access", "sas_token", "bot_key", "_key=", "_key ="]
        assignment!(
            "(?:client[_-])?secret(?:[_-]?(?:access[_-]?)?key)?|token|credentials?|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|(?:signing|encryption|master|app|account|storage|session|license|deploy|webhook|write|ingest|subscription|service|functions|consumer|server|admin|hmac|(?:pre-?)?shared|bot)[_-]?key|service_role|jwt|_auth|auth|connection_?string|_pat|pepper|_salt|hmac|x-(?:auth|session|access)(?:-[a-z]{2,8})?|_key"
        ),
        ["client_secret: '", "x7kq-2wm9-zr4t", "'"];
};

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
        untouched(&format!(
            "{public}\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE\n"
        ));
        let block = ["-----BEGIN PGP PRIV", "ATE KEY BLOCK-----"].concat();
        let block_end = ["-----END PGP PRIV", "ATE KEY BLOCK-----"].concat();
        check(
            &format!("{block}\nVersion: 1\n\n{line}\n=abcd\n{block_end}\n"),
            &format!("{gone}\n"),
        );
    }
}
