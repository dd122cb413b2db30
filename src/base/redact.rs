//! To redact is to replace a secret by the name of the rule that found it, such as `[redacted:npm-token]`.
//!
//! Here is the table of secrets: name, pattern, example. One pass over the text looks for the literal
//! anchors of all rules at once, and only where an anchor stands is its pattern tried; a second pass looks
//! at long runs of letters and digits, for secrets that nothing announces but the words before them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::text::cut;

/// Finds secrets by the built-in rules and by a person's own.
pub struct Redactor {
    anchors: Anchors,
    /// The patterns, made when first needed: most programs meet few kinds of secrets.
    patterns: Vec<OnceLock<Regex>>,
    custom: Vec<(String, Regex)>,
}

/// One kind of secret.
pub struct Rule {
    /// The name that stands in place of the secret.
    pub name: &'static str,
    /// What a match begins with, in any case; a rule without anchors is tried at each long run.
    pub anchors: &'static [&'static str],
    /// What to match from the anchor on; the secret is the first group, or all of it without groups.
    pub pattern: &'static str,
    /// A secret of this kind, in parts, so that this file holds none that a scanner would report.
    pub example: &'static [&'static str],
    /// Looks at the match and its surroundings.
    judge: fn(&Candidate) -> bool,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// Makes a redactor with the built-in rules.
    pub fn new() -> Self {
        let mut anchors = Anchors::default();
        anchors.add(PRIVATE_OPEN, PRIVATE);
        anchors.add(MARKER, MARKED);
        for (index, rule) in RULES.iter().enumerate() {
            for anchor in rule.anchors {
                anchors.add(anchor, index);
            }
        }
        Self { anchors, patterns: RULES.iter().map(|_| OnceLock::new()).collect(), custom: Vec::new() }
    }

    /// Makes a redactor with the built-in rules and a person's own, each a name and a regular expression.
    pub fn with_rules(custom: &[(String, String)]) -> Result<Self, String> {
        let mut redactor = Self::new();
        for (name, pattern) in custom {
            let regex = Regex::new(pattern)
                .map_err(|error| format!("the redaction rule `{name}` is no valid pattern: {error}"))?;
            let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(format!("the redaction rule `{name}` needs a name of letters, digits and hyphens"));
            }
            redactor.custom.push((name.clone(), regex));
        }
        Ok(redactor)
    }

    /// Returns the text with every secret replaced by `[redacted:rule]`; borrowed when there is none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        // What stood glued to a secret can be seen once that is gone; so it is looked for until none is
        // left, and to redact twice changes nothing. A person's pattern may never have enough.
        for _ in 0..8 {
            let found = self.find(&clean);
            if found.is_empty() {
                break;
            }
            clean = Cow::Owned(replaced(&clean, &found));
        }
        clean
    }

    /// Returns where each secret begins and ends, and the name of its rule, in order and apart.
    pub fn find(&self, text: &str) -> Vec<(usize, usize, &str)> {
        let mut found: Vec<Found> = Vec::new();
        let mut markers: Vec<Range<usize>> = Vec::new();
        self.find_anchored(text, &mut found, &mut markers);
        each_long_run(text, |run| self.look_at_run(text, run, &mut found));
        for (index, (_, regex)) in self.custom.iter().enumerate() {
            for captures in regex.captures_iter(text) {
                let rule = RULES.len() + index;
                let range = secret_of(&captures, 0);
                found.push(Found { rule, range });
            }
        }
        // What was redacted before stays as it is.
        found.retain(|found| {
            let within = |marker: &Range<usize>| marker.start <= found.range.start && found.range.end <= marker.end;
            !found.range.is_empty() && !markers.iter().any(within)
        });
        self.apart(found)
    }

    fn find_anchored(&self, text: &str, found: &mut Vec<Found>, markers: &mut Vec<Range<usize>>) {
        let mut skip_to = 0;
        self.anchors.each(text, |start, rule| {
            if start < skip_to {
                return;
            }
            let range = match rule {
                PRIVATE => private_end(text, start).map(|end| start..end),
                MARKED => {
                    let length = cut(&text[start..], 128).find(']');
                    markers.extend(length.map(|length| start..start + length + 1));
                    None
                }
                _ => self.try_rule(text, rule, start),
            };
            let Some(range) = range else {
                return;
            };
            // Nothing is to be found within a private span or a block, and it may be long.
            if rule == PRIVATE || range.len() > LINE {
                skip_to = range.end;
            }
            found.push(Found { rule, range });
        });
    }

    fn look_at_run(&self, text: &str, run: Range<usize>, found: &mut Vec<Found>) {
        for (rule, _) in RULES.iter().enumerate().filter(|(_, rule)| rule.anchors.is_empty()) {
            if let Some(range) = self.try_rule(text, rule, run.start) {
                found.push(Found { rule, range });
                return;
            }
        }
        if looks_random(&text[run.clone()]) && is_announced(text, &run) {
            let padding = text[run.end..].bytes().take_while(|&byte| byte == b'=').count();
            let range = run.start..run.end + padding;
            found.push(Found { rule: ENTROPY, range });
        }
    }

    fn try_rule(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        let Rule { pattern, judge, .. } = RULES[rule];
        let regex = self.patterns[rule]
            .get_or_init(|| Regex::new(&format!(r"\A(?:{pattern})")).expect("a test makes every pattern of the table"));
        let longest = if rule == PRIVATE_KEY { 16 * LINE } else { LINE };
        let window = cut(&text[start..], longest);
        let captures = regex.captures(window)?;
        let range = secret_of(&captures, start);
        let candidate = Candidate { text, start, range: range.clone() };
        judge(&candidate).then_some(range)
    }

    /// Orders what was found, joins what overlaps, and names it; the more specific name wins.
    fn apart(&self, mut found: Vec<Found>) -> Vec<(usize, usize, &str)> {
        found.sort_by_key(|found| (found.range.start, found.rule));
        let mut apart: Vec<(usize, usize, &str)> = Vec::new();
        for Found { rule, range } in found {
            match apart.last_mut() {
                Some((_, end, _)) if range.start < *end => *end = range.end.max(*end),
                _ => apart.push((range.start, range.end, self.name(rule))),
            }
        }
        apart
    }

    fn name(&self, rule: usize) -> &str {
        match rule {
            PRIVATE => "private",
            ENTROPY => "high-entropy",
            _ if rule < RULES.len() => RULES[rule].name,
            _ => &self.custom[rule - RULES.len()].0,
        }
    }
}

fn replaced(text: &str, found: &[(usize, usize, &str)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for &(from, to, rule) in found {
        replaced.push_str(&text[end..from]);
        replaced.push_str(MARKER);
        replaced.push_str(rule);
        replaced.push(']');
        end = to;
    }
    replaced.push_str(&text[end..]);
    replaced
}

/// How far from its anchor a secret is looked for, in bytes.
const LINE: usize = 4096;
const MARKER: &str = "[redacted:";
const PRIVATE_OPEN: &str = "<private>";
const PRIVATE_CLOSE: &str = "</private>";
/// Stands for the rule of `<private>` spans, before all others.
const PRIVATE: usize = usize::MAX;
/// Stands for the rule of random-looking runs, after all others.
const ENTROPY: usize = usize::MAX - 1;
/// Stands for what is redacted already.
const MARKED: usize = usize::MAX - 2;
const PRIVATE_KEY: usize = 0;

struct Found {
    rule: usize,
    range: Range<usize>,
}

/// A match before it is judged.
struct Candidate<'t> {
    text: &'t str,
    /// Where its anchor begins.
    start: usize,
    /// The secret.
    range: Range<usize>,
}

/// Makes the pattern of `name = value` for names that end in one of the keys, in any notation:
/// quoted, escaped within JSON, bare as in YAML or an environment file, annotated with a type, or a flag.
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
        example: &["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
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
        example: &[r#""private_key_id": ""#, "3f9a1c7e5b2d8064", "9e1f3a7c5d2b8064f1a3c5e7", r#"""#],
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
        example: &["https://x.blob.core.windows.net/c?sv=2024&sig=", "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2%3D"],
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
        example: &["x7Kq2Wm9Zr4Tn8.atlas", "v1.", "x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ux7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf"],
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
        example: &["AGE-SECRET-", "KEY-1QZX7KQ2WM9ZR4TN8YC0VD5LP3S6HF0JG9EA2U4N8K7Q2W9Z4T8Y0V5L3S6F"],
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
        example: &["ATATT3", "xFfGF0x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4Nx7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B=4E1F"],
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
        example: &["https://hooks.slack.com/", "services/T02AB3CD4/B05EF6GH7/x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3B"],
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
        example: &["MTIzNDU2Nzg5MDEyMzQ1Njc4", ".Gx7Kq2.", "Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lwk"],
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
        judge: alone,
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
            "secret",
            "token",
            "credential",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "access-key",
            "accesskey",
            "auth_key",
            "private_key",
            "privatekey",
            "signing_key",
            "encryption_key",
            "master_key",
        ],
        pattern: assignment!(
            "secret(?:[_-]?(?:access[_-]?)?key)?|token|credentials?|api[_-]?key|access[_-]?key|auth_key|private_?key|(?:signing|encryption|master)_key"
        ),
        example: &["client_secret: '", "x7kq-2wm9-zr4t", "'"],
        judge: secret,
    },
];

// --- Anchors ---

/// The literals that rules begin with, each known by its rarest three bytes.
///
/// An automaton for them all takes one dependent step for each byte; three bytes and a table of bits
/// take none, and come to two or three times the speed.
#[derive(Default)]
struct Anchors {
    /// The literal, where its rare bytes stand in it, and its rule.
    literals: Vec<(&'static [u8], usize, usize)>,
    /// One bit for each hash of three bytes that some literal has.
    bits: Vec<u64>,
    /// The literals by the lower bits of that hash.
    buckets: Vec<Vec<usize>>,
}

impl Anchors {
    const BUCKETS: usize = 256;

    fn add(&mut self, literal: &'static str, rule: usize) {
        self.bits.resize(1 << 10, 0);
        self.buckets.resize(Self::BUCKETS, Vec::new());
        let literal = literal.as_bytes();
        let offset = rarest(literal);
        let hash = hash([literal[offset], literal[offset + 1], literal[offset + 2], 0]);
        self.bits[hash >> 6] |= 1 << (hash & 63);
        self.buckets[hash % Self::BUCKETS].push(self.literals.len());
        self.literals.push((literal, offset, rule));
    }

    /// Calls `each` with the place and the rule of every anchor in a text, in any case.
    fn each(&self, text: &str, mut each: impl FnMut(usize, usize)) {
        let bytes = text.as_bytes();
        let Ok(bits) = <&[u64; 1 << 10]>::try_from(self.bits.as_slice()) else {
            return;
        };
        for (at, window) in bytes.windows(4).enumerate() {
            let hash = hash([window[0], window[1], window[2], window[3]]);
            if bits[hash >> 6] >> (hash & 63) & 1 != 0 {
                self.look(bytes, at, hash, &mut each);
            }
        }
        if let [.., first, second, third] = *bytes {
            let hash = hash([first, second, third, 0]);
            self.look(bytes, bytes.len() - 3, hash, &mut each);
        }
    }

    // Kept apart from the loop above, which then runs in a few registers.
    #[inline(never)]
    fn look(&self, bytes: &[u8], at: usize, hash: usize, each: &mut dyn FnMut(usize, usize)) {
        for &index in &self.buckets[hash % Self::BUCKETS] {
            let (literal, offset, rule) = self.literals[index];
            let Some(start) = at.checked_sub(offset) else {
                continue;
            };
            let here = bytes.get(start..start + literal.len());
            if here.is_some_and(|here| here.eq_ignore_ascii_case(literal)) {
                each(start, rule);
            }
        }
    }
}

/// Returns a number of 16 bits for the first three of four bytes, the same for either case of a letter.
fn hash(window: [u8; 4]) -> usize {
    let folded = (u32::from_le_bytes(window) | 0x2020_2020) & 0x00ff_ffff;
    (folded.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Returns where the three bytes begin that are rarest in ordinary text.
fn rarest(literal: &[u8]) -> usize {
    const FREQUENT_FIRST: &[u8] = b" etaoinsrlcdumphfgybvwk./-_:xjqz";
    let rarity = |byte: &u8| {
        let lower = byte.to_ascii_lowercase();
        let place = FREQUENT_FIRST.iter().position(|&known| known == lower);
        place.unwrap_or(FREQUENT_FIRST.len())
    };
    let grams = literal.windows(3).enumerate();
    let rarest = grams.max_by_key(|(_, gram)| gram.iter().map(rarity).sum::<usize>());
    rarest.map_or(0, |(offset, _)| offset)
}

/// Returns the place of the first group that took part, or of the whole match.
fn secret_of(captures: &regex::Captures, offset: usize) -> Range<usize> {
    let group = captures.iter().skip(1).flatten().next();
    let secret = group.or(captures.get(0)).map_or(0..0, |found| found.range());
    secret.start + offset..secret.end + offset
}

/// Returns where a private span ends, at its closing tag or with the text; none for a tag that is
/// only mentioned, in backticks.
fn private_end(text: &str, start: usize) -> Option<usize> {
    let inside = &text[start + PRIVATE_OPEN.len()..];
    if text[..start].ends_with('`') && inside.starts_with('`') {
        return None;
    }
    let is_close = |&(at, _): &(usize, &str)| {
        let tag = inside.as_bytes().get(at..at + PRIVATE_CLOSE.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(PRIVATE_CLOSE.as_bytes()))
    };
    let close = inside.match_indices("</").find(is_close);
    Some(close.map_or(text.len(), |(at, _)| start + PRIVATE_OPEN.len() + at + PRIVATE_CLOSE.len()))
}

// --- Judges ---

impl<'t> Candidate<'t> {
    fn value(&self) -> &'t str {
        &self.text[self.range.clone()]
    }
}

fn anywhere(_: &Candidate) -> bool {
    true
}

/// Accepts a token that does not begin within a longer word.
fn token(candidate: &Candidate) -> bool {
    let before = &candidate.text.as_bytes()[..candidate.start];
    let Some(&last) = before.last() else {
        return true;
    };
    if !last.is_ascii_alphanumeric() && last != b'_' {
        return true;
    }
    // The letter before may belong to an escape: `\n`, `%3D`, `\u003d`, or a colour's `[0m`.
    let ends_with_escape = |lead: &[u8], length: usize| {
        before.len() >= lead.len() + length
            && before[before.len() - length - lead.len()..].starts_with(lead)
            && (length == 1 || before[before.len() - length..].iter().all(u8::is_ascii_hexdigit))
    };
    (b"nrt".contains(&last) && ends_with_escape(b"\\", 1))
        || ends_with_escape(b"%", 2)
        || ends_with_escape(b"\\u", 4)
        || ends_with_escape(b"\\x", 2)
        || (last == b'm' && ends_with_colour(before))
}

fn ends_with_colour(before: &[u8]) -> bool {
    let codes = before[..before.len() - 1].iter().rev();
    let codes = codes.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    before.len() >= codes + 2 && before[before.len() - codes - 2] == b'['
}

/// Accepts a value with letters and digits, and more than short words between its hyphens.
fn mixed(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let longest = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max();
    longest >= Some(12)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !is_placeholder(value)
}

fn mixed_token(candidate: &Candidate) -> bool {
    token(candidate) && mixed(candidate)
}

/// Accepts a token that is no stretch of longer data in Base64.
fn alone(candidate: &Candidate) -> bool {
    let text = candidate.text.as_bytes();
    let neighbour = |byte: Option<&u8>| byte.is_some_and(|byte| b"+/=".contains(byte));
    let before = candidate.start.checked_sub(1).and_then(|at| text.get(at));
    token(candidate) && !neighbour(before) && !neighbour(text.get(candidate.range.end))
}

fn after_a_number(candidate: &Candidate) -> bool {
    let before = candidate.text[..candidate.start].bytes().rev();
    (8..=10).contains(&before.take(11).take_while(u8::is_ascii_digit).count())
}

fn url_password(candidate: &Candidate) -> bool {
    let value = candidate.value();
    !value.starts_with(['$', '{', '[', '*', '%', '#']) && !is_placeholder(value)
}

/// Accepts what stands behind `Bearer` and its like when it is a value rather than a name for one.
fn credential(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let is_scheme = value.starts_with("AWS4-");
    if is_scheme || is_placeholder(value) || is_expression(candidate) {
        return false;
    }
    // A header, perhaps of a proxy or as a variable, but no `EndpointAuthorization`.
    if !token(candidate) && !candidate.text[..candidate.start].ends_with('_') {
        return false;
    }
    let before = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    if before.trim_end().ends_with("basic") {
        let upper = value.bytes().any(|byte| byte.is_ascii_uppercase());
        let lower = value.bytes().any(|byte| byte.is_ascii_lowercase());
        return value.len().is_multiple_of(4) && upper && lower;
    }
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.len() >= 12 && digit && letter && !is_wordy(value)
}

/// Accepts the value of a password, unless it is a placeholder, a type, a path or an expression.
fn password(candidate: &Candidate) -> bool {
    let value = candidate.value();
    if is_placeholder(value) || is_plain(value) || value.starts_with(['/', '~', '.']) {
        return false;
    }
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => !value.contains(char::is_whitespace),
        Notation::Environment => !is_expression(candidate),
        Notation::Bare => {
            let telling = |c: char| c.is_ascii_digit() || "!@#$%^*+~?".contains(c);
            value.len() >= 6 && value.contains(telling) && !names_a_secret(value) && !is_expression(candidate)
        }
    }
}

/// Accepts the value of a key or token; such names are common in code, so the value has to look it.
fn secret(candidate: &Candidate) -> bool {
    let value = candidate.value();
    if is_placeholder(value) || is_plain(value) || is_harmless_name(name_before(candidate)) {
        return false;
    }
    let strong = !is_wordy(value)
        && !value.contains("://")
        && !value.starts_with(['/', '~', '.'])
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => strong && value.len() >= 8,
        Notation::Environment => strong && value.len() >= 8 && !is_expression(candidate),
        Notation::Bare => strong && value.len() >= 12 && !is_expression(candidate),
    }
}

/// How an assignment is written.
enum Notation {
    /// It is none.
    None,
    Quoted,
    /// `NAME=value`, or a part of a query or connection string.
    Environment,
    /// `name: value`, `name=value`, `--name value`.
    Bare,
}

fn notation(candidate: &Candidate) -> Notation {
    let between = &candidate.text[candidate.start..candidate.range.start];
    let name = name_before(candidate);
    let name_start = candidate.start - name.len();
    let assigns = between.contains([':', '=']);
    if !assigns && !name.starts_with("--") {
        return Notation::None;
    }
    // `AWS::IAM::AccessKey` is a kind of resource.
    if candidate.text[..name_start].ends_with("::") {
        return Notation::None;
    }
    if between.ends_with(['"', '\'', '`']) {
        return Notation::Quoted;
    }
    let before = candidate.text[..name_start].bytes().last();
    let key = between.trim_start_matches('_');
    let upper = key.bytes().take(3).all(|byte| byte.is_ascii_uppercase());
    if between.ends_with('=') && (upper || matches!(before, Some(b'?' | b'&' | b';'))) {
        return Notation::Environment;
    }
    Notation::Bare
}

/// Returns what stands before the key within its name: `client_` of `client_secret`, `--db-` of `--db-password`.
fn name_before<'t>(candidate: &Candidate<'t>) -> &'t str {
    let before = &candidate.text.as_bytes()[..candidate.start];
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte == b'-';
    let length = before.iter().rev().take(48).take_while(is_name).count();
    &candidate.text[candidate.start - length..candidate.start]
}

/// Tells names of tokens and keys that are no secrets: of pages, caches, language models.
fn is_harmless_name(name: &str) -> bool {
    const HARMLESS: &[&str] = &[
        "page",
        "next",
        "cursor",
        "continu",
        "sync",
        "cancel",
        "cache",
        "public",
        "eos",
        "bos",
        "pad",
        "mask",
        "unk",
        "special",
        "stop",
        "max",
        "min",
        "num",
        "count",
        "total",
        "usage",
        "prompt",
        "completion",
        "input",
        "output",
        "idempotency",
        "primary",
        "foreign",
        "partition",
        "sort",
        "object",
        "s3",
        "resume",
        "delta",
        "design",
    ];
    let name = name.to_ascii_lowercase();
    HARMLESS.iter().any(|word| name.contains(word))
}

/// Tells what stands for a secret in examples and templates.
fn is_placeholder(value: &str) -> bool {
    const PARTS: &[&str] = &[
        "${",
        "{{",
        "$(",
        "#{",
        "<%",
        "%s",
        "%(",
        "...",
        "…",
        "***",
        "•••",
        "xxx",
        "redacted",
        "your",
        "example",
        "placeholder",
        "changeme",
        "change_me",
        "change-me",
        "dummy",
        "replace",
        "insert",
        "todo",
        "sample",
        "process.env",
        "environ",
        "getenv",
        "env.",
        "env[",
        "secrets.",
    ];
    let Some(first) = value.chars().next() else {
        return true;
    };
    if "$<{%*[".contains(first) || value.chars().all(|c| c == first) {
        return true;
    }
    if value.contains('{') && value.contains('}') {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let Some(part) = PARTS.iter().find(|part| lower.contains(**part)) else { return false };
    // A word such as `example` inside of a value that is otherwise as random as a secret excuses nothing.
    let rest = lower.replace(part, "");
    let has = |text: &str, kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    let long_run = rest.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        run.len() >= 16 && has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic)
    });
    let base64 = rest.len() >= 20
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'='))
        && [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].iter().all(|kind| has(value, *kind));
    !long_run && !base64
}

/// Tells words that stand where a value could: types, constants, words of forms and messages.
fn is_plain(value: &str) -> bool {
    const PLAIN: &[&str] = &[
        "null",
        "none",
        "nil",
        "undefined",
        "true",
        "false",
        "string",
        "text",
        "number",
        "integer",
        "boolean",
        "bytes",
        "char",
        "varchar",
        "option",
        "optional",
        "required",
        "invalid",
        "missing",
        "hidden",
        "empty",
        "unknown",
        "default",
        "input",
        "field",
        "value",
        "type",
        "test",
        "testing",
        "object",
        "array",
        "self",
        "this",
        "any",
        "void",
        "never",
        "unset",
        "disabled",
        "enabled",
        "incorrect",
        "wrong",
        "correct",
        "encrypted",
        "hashed",
        "masked",
        "plain",
        "plaintext",
        "bearer",
        "basic",
        "label",
        "name",
        "email",
        "username",
        "user",
        "login",
        "expired",
        "argon2",
        "bcrypt",
        "oauth2",
        "argon2id",
        "str | none",
        "prompt",
        "stdin",
        "file",
        "keychain",
        "vault",
    ];
    let trimmed = value.trim_end_matches(['.', '!', '?', ':', '*', ')']);
    let lower = trimmed.to_ascii_lowercase();
    if PLAIN.contains(&lower.as_str()) {
        return true;
    }
    // `uint32`, `base64`, `sha256`
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let width = &lower[stem.len()..];
    let has_width = ["8", "16", "32", "64", "128", "256", "512"].contains(&width);
    if has_width && stem.len() <= 6 && stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return true;
    }
    let is_word = |c: char| c.is_alphabetic() || "_-. :/".contains(c);
    lower.chars().all(is_word) && names_a_secret(&lower)
}

fn names_a_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let names = ["passw", "passwd", "pwd", "secret", "token", "apikey", "api_key", "api-key", "key", "credential"];
    names.iter().any(|name| lower.contains(name))
}

/// Tells code from a value: a call, an index, a member, a path of a module.
fn is_expression(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let after = &candidate.text[candidate.range.end..];
    if after.starts_with(['(', '[', '{']) || (after.starts_with('<') && !after.starts_with("</")) {
        return true;
    }
    if value.contains("::") || value.contains("->") || value.starts_with(['!', '-', '@', '+', '#']) {
        return true;
    }
    let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if value.contains('_') && value.chars().all(is_constant) {
        return true;
    }
    let mut members = value.trim_end_matches(['?', '!', '.', ':']).split(['.', '?']).filter(|m| !m.is_empty());
    let is_identifier = |member: &str| {
        !member.starts_with(|c: char| c.is_ascii_digit())
            && member.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !looks_random(member)
    };
    value.contains('.') && members.all(is_identifier)
}

/// Tells a value made of words and small numbers, such as `e2e-user-token`, `access-123` or `tokenV2`.
fn is_wordy(value: &str) -> bool {
    let mut scattered = 0;
    let mut is_word = |segment: &str| {
        let digits = segment.bytes().filter(u8::is_ascii_digit).count();
        if digits == segment.len() {
            return digits <= 3;
        }
        scattered += digits;
        digits <= 1 && splits(segment) * 4 <= segment.len() + 8
    };
    value.split(|c: char| !c.is_ascii_alphanumeric()).all(&mut is_word) && scattered < 3
}

// --- Random-looking runs ---

/// The shortest run that is looked at, in bytes.
const SHORTEST_RUN: usize = 24;
/// The longest; what is longer is data, such as an image.
const LONGEST_RUN: usize = 200;

static IN_RUN: [bool; 256] = {
    let mut in_run = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        in_run[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'+' | b'/' | b'_' | b'-');
        byte += 1;
    }
    in_run
};

/// Calls `each` with every run of token characters that is long enough, looking at one byte in each stride.
fn each_long_run(text: &str, mut each: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let in_run = |at: usize| IN_RUN[bytes[at] as usize];
    let mut at = SHORTEST_RUN - 1;
    let mut floor = 0;
    while at < bytes.len() {
        if !in_run(at) {
            floor = at + 1;
            at += SHORTEST_RUN;
            continue;
        }
        let mut start = at;
        while start > floor && in_run(start - 1) {
            start -= 1;
        }
        let mut end = at + 1;
        while end < bytes.len() && in_run(end) {
            end += 1;
        }
        if end - start >= SHORTEST_RUN {
            each(start..end);
        }
        floor = end;
        at = end + SHORTEST_RUN;
    }
}

/// Tells random characters from names, paths, hashes and ids.
fn looks_random(run: &str) -> bool {
    const IDS: &[&str] = &[
        "toolu_",
        "srvtoolu_",
        "msg_",
        "req_",
        "call_",
        "chatcmpl-",
        "resp_",
        "run_",
        "thread_",
        "asst_",
        "file-",
        "fc_",
        "rs_",
        "ses_",
        "prt_",
        "evt_",
        "sha1-",
        "sha256-",
        "sha384-",
        "sha512-",
        "AAAA",
        "session_",
        "cse_",
        "container_",
        "agent_",
        "gen-",
    ];
    if run.len() > LONGEST_RUN || IDS.iter().any(|id| run.starts_with(id)) {
        return false;
    }
    let longest = run.split(['/', '_', '-', '+']).max_by_key(|segment| segment.len());
    let Some(segment) = longest.filter(|segment| segment.len() >= 16) else {
        return false;
    };
    let count = |is: fn(&u8) -> bool| segment.bytes().filter(is).count();
    // Names have a digit here and there; in random text every fourth place has one on one side only.
    let digit_edges =
        segment.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    count(u8::is_ascii_uppercase) >= 2
        && count(u8::is_ascii_lowercase) >= 2
        && digit_edges >= 3
        && digit_edges * 8 >= segment.len()
        && splits(segment) * 4 >= segment.len()
        && entropy(segment) >= 3.5
}

/// Counts the places where the class of character changes, except after a capital, as names have it.
fn splits(segment: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let pairs = segment.as_bytes().windows(2);
    pairs.filter(|pair| class(pair[0]) != class(pair[1]) && (class(pair[0]), class(pair[1])) != (1, 0)).count()
}

/// Returns the Shannon entropy in bits for each byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[byte as usize] += 1;
    }
    let total = text.len() as f64;
    let present = counts.iter().filter(|&&count| count > 0);
    present
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Tells whether the words before a run, on its line, announce a secret.
fn is_announced(text: &str, run: &Range<usize>) -> bool {
    const WORDS: &[&str] = &["token", "secret", "passw", "pwd", "auth", "credential", "bearer", "key"];
    const HARMLESS: &[&str] = &[
        "public",
        "author",
        "hash",
        "sha",
        "commit",
        "signature",
        "fingerprint",
        "checksum",
        "integrity",
        "digest",
        "uuid",
        "_id",
        "id\"",
        "ssh-",
        "etag",
        "h1:",
    ];
    let before = last(&text[..run.start], 48);
    let before = before.rsplit('\n').next().unwrap_or(before);
    let before = before.rsplit("\\n").next().unwrap_or(before).to_ascii_lowercase();
    let Some((word_at, word)) = WORDS.iter().filter_map(|word| before.rfind(word).map(|at| (at, *word))).max() else {
        return is_constant(last(&text[..run.start], 48));
    };
    let gap = &before[word_at + word.len()..];
    let nearby = last(&before, before.len() - word_at + 12);
    let is_gap = |c: char| c.is_ascii_alphanumeric() || " \t\"'`:=>_-\\([{".contains(c);
    let name = before[..word_at].rsplit([' ', '"', '\'', ',', '{', '(']).next().unwrap_or("");
    gap.len() <= 24
        && gap.contains([':', '=', ' '])
        && gap.chars().all(is_gap)
        && !(word == "key" && gap.starts_with(|c: char| c.is_ascii_alphabetic()))
        && !is_harmless_name(name)
        && !HARMLESS.iter().any(|harmless| nearby.contains(harmless))
}

/// Returns the end of a text in at most `max_bytes` bytes.
fn last(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Tells the beginning of `NAME=`, as in an environment file, unless it names an id or a hash.
fn is_constant(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'']);
    let Some(before) = before.strip_suffix('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = before.rsplit(|c| !is_name(c)).next().unwrap_or(before);
    let harmless = ["ID", "HASH", "SHA", "UUID", "PATH", "FILE", "DIR", "URL", "COMMIT", "REF", "INTEGRITY"];
    name.len() >= 3
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !harmless.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        let redactor = Redactor::new();
        assert_eq!(redactor.redact(input), expected, "redacting {input:?}");
        assert_eq!(redactor.redact(expected), expected, "redacting twice {input:?}");
    }

    fn untouched(input: &str) {
        let redactor = Redactor::new();
        let found = redactor.find(input);
        assert!(found.is_empty(), "{input:?}: {found:?}");
        assert!(matches!(redactor.redact(input), Cow::Borrowed(_)));
    }

    /// A value that looks random, without standing in this file as one.
    fn random() -> String {
        ["x7Kq2Wm9Zr4T", "n8Yc1Vd5Lp3Bs6Hf"].concat()
    }

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
        check(r#"{\"password\": \"hunter2\", \"x\": 1}"#, r#"{\"password\": \"[redacted:password]\", \"x\": 1}"#);
        check(r#"{\\\"password\\\": \\\"hunter2\\\"}"#, r#"{\\\"password\\\": \\\"[redacted:password]\\\"}"#);
        check(r#"a\nPASSWORD=hunter2\nB=c"#, r#"a\nPASSWORD=[redacted:password]\nB=c"#);
        check("const password: string = \"hunter2\";", "const password: string = \"[redacted:password]\";");
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
        check(&format!("Authorization: Bearer {value}"), "Authorization: Bearer [redacted:authorization]");
        check(&format!("-H \"authorization: token {value}\""), "-H \"authorization: token [redacted:authorization]\"");
        check(
            &format!("\\\"Authorization\\\": \\\"Bearer {value}\\\""),
            "\\\"Authorization\\\": \\\"Bearer [redacted:authorization]\\\"",
        );
        check("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]");
    }

    #[test]
    fn tokens_behind_escapes_and_between_quotes() {
        let token = RULES.iter().find(|rule| rule.name == "github-token");
        let token = token.expect("the rule exists").example.concat();
        for (before, after) in [
            ("", ""),
            ("\\n", "\\n"),
            ("'", "'"),
            ("\"", "\\\""),
            ("https://", "@github.com/x"),
            ("%3D", "%26"),
            ("\\u003d", "\\u0026"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("password=", ""),
            ("TOKEN=\"", "\""),
            ("Authorization: Bearer ", ""),
        ] {
            check(&format!("{before}{token}{after}"), &format!("{before}[redacted:github-token]{after}"));
        }
        untouched(&format!("x{token}"));
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
        check(&format!("\"k\": \"{begin}\\n{line}\\n{line}\\n{end}\\n\""), &format!("\"k\": \"{gone}\\n\""));
        check(&format!("     1→{begin}\n     2→{line}\n     3→{end}\n"), &format!("     1→{gone}\n"));
        check(&format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\n{line}\n{end}"), gone);
        check(&format!("{begin}\n{}{end}", format!("{line}\n").repeat(200)), gone);
        untouched(&format!("pem.replace('{begin}', '').replace('{end}', '')"));
        untouched(&format!("it starts with {begin} as usual"));
        let public = ["-----BEGIN PUBLIC ", "KEY-----"].concat();
        untouched(&format!("{public}\n{line}\n"));
        let block = ["-----BEGIN PGP PRIV", "ATE KEY BLOCK-----"].concat();
        let block_end = ["-----END PGP PRIV", "ATE KEY BLOCK-----"].concat();
        check(&format!("{block}\nVersion: 1\n\n{line}\n=abcd\n{block_end}\n"), &format!("{gone}\n"));
    }

    #[test]
    fn private_spans() {
        check("a <private>b</private> c", "a [redacted:private] c");
        check("a <PRIVATE>b\nc</Private> d", "a [redacted:private] d");
        check("a <private>b c", "a [redacted:private]");
        check("<private>a</private><private>b</private>", "[redacted:private][redacted:private]");
        check("<private>password = 'hunter2'</private>", "[redacted:private]");
        untouched("put it in a `<private>` span");
    }

    #[test]
    fn random_runs_that_words_announce() {
        let value = random();
        check(&format!("my token is {value} ok"), "my token is [redacted:high-entropy] ok");
        check(&format!("the key: {value}"), "the key: [redacted:high-entropy]");
        check(&format!("SETTING={value}=="), "SETTING=[redacted:high-entropy]");
        untouched(&format!("the file {value} is here"));
        untouched(&format!("\"id\": \"{value}\""));
        untouched(&format!("public_key: {value}"));
        untouched(&format!("BUILD_ID={value}"));
        untouched(&format!("token data {}", value.repeat(10)));
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "password: string",
            "password: String,",
            "password: &str,",
            "password: Option<String>,",
            "password: str | None = None",
            "def f(password=None, token=None):",
            "login(user=user, password=password)",
            "password=password1, x",
            "password = self.password",
            "password = get_password()",
            "password=os.environ[\"PASSWORD\"]",
            "password: process.env.DB_PASSWORD,",
            "password = \"<your-password>\"",
            "PASSWORD=$PASSWORD",
            "PASSWORD=${PASSWORD:-x}",
            "password: '${{ secrets.PASSWORD }}'",
            "password = \"xxxxxxxx\"",
            "password=********",
            "API_KEY=your-api-key-here-123",
            "\"password\": null, \"token\": true",
            "<input type=\"password\" name=\"password\">",
            "\"password\": \"Passwort\"",
            "password: \"Enter the password\"",
            "Password: required",
            "PWD=/home/me/project",
            "pwd = ~/x",
            "token = parser.next()",
            "token = tokens[index2]",
            "let token: Token = lexer.next_token2();",
            "token: u32, secret: U256",
            "max_tokens: 4096, tokens: 123456",
            "\"input_tokens\": 18234, \"cache_token\": \"ephemeral_5m\"",
            "nextPageToken: 'abcd1234efgh5678'",
            "eos_token = \"<|endoftext|>\"",
            "tokenizer: cl100k_base",
            "secret: SECRET_KEY_BASE2",
            "secretName: my-app-tls-v2",
            "the secret is to keep calm",
            "api_key: test-key-1",
            "Authorization: Bearer <token>",
            "Authorization: Bearer $TOKEN",
            "headers.authorization = `Bearer ${token}`",
            "Authorization: Bearer YOUR_TOKEN",
            "authorization: req.headers.authorization",
            "https://example.com:8080/a@b",
            "postgres://user:$PASSWORD@host/db",
            "postgres://user:<password>@host/db",
            "http://localhost:3000/@scope/package",
            "task-abcdefghijklmnopqrstuvwxyz",
            "sk-loading-spinner-with-a-long-name",
            "class=\"risk-assessment-form-container\"",
            "commit 3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7",
            "sha256:3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c",
            "token 0b9c8d1e-5b2d-4064-9e1f-3a7c5d2b8064",
            "key 01J8XKAVT5ZQ9M4N7P2R3S6T8V",
            "\"tool_use_id\": \"toolu_01A09q90qw90lq917835lq9K\"",
            "auth key: msg_01XFDUDYJgAACzvnptvVoYEL",
            "token req_011CSHoEeqs5C35K2UUqR7Fy call_x7Kq2Wm9Zr4Tn8Yc1Vd5",
            "key chatcmpl-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf",
            "\"integrity\": \"sha512-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N==\"",
            "key h1:x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw=",
            "/nix/store/x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9-secret-tool-1.2.3",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
            "key: getUserByIdAndUpdateTokenV2Handler1",
            "token /Users/Me/Projects/App2/Sources/Token/Key3/File.swift",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIx7Kq2Wm9Zr4Tn8Yc1 me",
            "pub const SYS_memfd_secret: c_long = __X32_SYSCALL_BIT + 447;",
            "\"AWS::IAM::AccessKey\": \"62d91b17309e76c8\"",
            "\"AWS::Redshift::EndpointAuthorization\": \"e72be424d109da1d\"",
            "Authorization: AWS4-HMAC-SHA256 Credential=x",
            "see credentials: `tests/e2e/.env`",
            "TEST_SECRET=e2e-test-secret-do-not-use",
            "accessToken: 'access-123'",
            "[redacted:password] password=[redacted:password]",
        ] {
            untouched(text);
        }
    }

    #[test]
    fn custom_rules() {
        let rule = |name: &str, pattern: &str| (name.to_string(), pattern.to_string());
        let redactor = Redactor::with_rules(&[rule("ticket", r"ACME-(\d+)"), rule("word", "[a-z]+")]);
        let redactor = redactor.expect("both are valid");
        assert_eq!(redactor.redact("ACME-12"), "ACME-[redacted:ticket]");
        let once = redactor.redact("ACME-12 and more").into_owned();
        assert_eq!(redactor.redact(&once), once);
        let error = Redactor::with_rules(&[rule("broken", "(")]).err();
        assert!(error.is_some_and(|error| error.contains("`broken`")));
        assert!(Redactor::with_rules(&[rule("a]b", "x")]).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        #[test]
        fn redacting_twice_changes_nothing(parts in proptest::collection::vec(0..60usize, 0..8), noise in "\\PC{0,12}") {
            const PIECES: &[&str] = &[
                "password", "=", ": ", "\"", "'", "\\\"", " ", "\n", "token", "secret", "://u:", "@host", "hunter2",
                "Bearer ", "Authorization: ", "<private>", "</private>", "[redacted:x]", "[redacted:", "]", "KEY=",
            ];
            let text: String = parts
                .iter()
                .map(|&part| match PIECES.get(part) {
                    Some(piece) => piece.to_string(),
                    None if part == 59 => noise.clone(),
                    None => RULES[part * 2 % RULES.len()].example.concat(),
                })
                .collect();
            let redactor = Redactor::new();
            let once = redactor.redact(&text).into_owned();
            assert_eq!(redactor.redact(&once), once, "from {text:?}");
        }
    }
}
