//! A command line may hold a password: as the value of a flag, behind a user's name, in a fixed
//! place, or piped into a program that asks for one.
//!
//! [`PROGRAMS`] says which programs take passwords how. Flags that name what they take, such as
//! `--password`, need no entry: the rules of assignments know them.

use std::ops::Range;

use super::placeholders::{is_placeholder_at, is_test_password, names_a_secret};
use super::shape::is_wordy;

/// A program that takes passwords on its command line.
struct Program {
    names: &'static [&'static str],
    /// A word that has to stand in the command, where only one of its verbs takes passwords.
    needs: &'static str,
    secrets: &'static [Taken],
}

/// How a program takes a password.
enum Taken {
    /// The value of a flag, in the next word, behind `=` or glued to the flag.
    Flag(&'static str),
    /// The same in the next word only: longer flags of the program begin alike.
    Next(&'static str),
    /// The part of such a value behind the first of this character.
    Behind(&'static str, char),
    /// Glued to the flag only.
    Glued(&'static str),
    /// So many plain words behind a word; an empty one is the program itself.
    After(&'static str, usize),
    /// So many words behind one that begins or ends so.
    AfterKey(&'static str, usize),
    /// The last word, if a group of flags has this letter.
    Last(char),
    /// Between `/` and `@` of the first plain word.
    Slash,
    /// The plain word behind `\\\\server\\share`.
    Share,
    /// The values of `name=value`, where the name or the value says that it is one.
    Pairs,
}

use Taken::{After, AfterKey, Behind, Flag, Glued, Last, Next, Pairs, Share, Slash};

/// The programs, and how they take passwords.
const PROGRAMS: &[Program] = &[
    of(
        &["curl", "curl.exe"],
        &[
            Behind("-u", ':'),
            Behind("--user", ':'),
            Behind("-U", ':'),
            Behind("--proxy-user", ':'),
            Behind("-b", '='),
            Behind("--cookie", '='),
            Flag("--oauth2-bearer"),
            Flag("--pass"),
        ],
    ),
    of(&["http", "https", "xh", "httpie"], &[Behind("-a", ':'), Behind("--auth", ':')]),
    of(&["sshpass"], &[Flag("-p")]),
    of(
        &[
            "mysql", "mysqldump", "mysqlimport", "mysqlcheck", "mysqlshow", "mariadb", "mycli",
            "mytop",
        ],
        &[Glued("-p")],
    ),
    of(&["mysqladmin", "mariadb-admin"], &[Glued("-p"), After("password", 0)]),
    of(
        &[
            "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport",
            "mongostat",
        ],
        &[Flag("-p")],
    ),
    of(&["redis-cli", "valkey-cli", "keydb-cli"], &[Flag("-a"), Flag("--pass"), After("auth", 0)]),
    of(&["sqlcmd", "bcp", "osql", "isql", "tsql"], &[Flag("-P")]),
    of(
        &[
            "cqlsh", "cypher-shell", "nodetool", "beeline", "influx", "ncftpput", "ncftpget",
            "ncftp",
        ],
        &[Flag("-p"), Flag("-pw"), Flag("-password")],
    ),
    of(&["sqlplus", "expdp", "impdp", "sqlldr", "rman", "tnsping", "sqlcl"], &[Slash]),
    of(&["clickhouse-client", "etcdctl", "snowsql"], &[Behind("--user", ':'), Flag("--password")]),
    of(&["neo4j-admin"], &[After("set-initial-password", 0)]),
    of(
        &["rabbitmqctl"],
        &[After("add_user", 1), After("change_password", 1), After("authenticate_user", 1)],
    ),
    of(&["rabbitmqadmin", "twine", "useradd", "usermod", "rdesktop"], &[Flag("-p")]),
    of(&["mosquitto_pub", "mosquitto_sub", "ipmitool", "mqttx"], &[Flag("-P")]),
    verb(
        &[
            "docker", "podman", "nerdctl", "buildah", "skopeo", "crane", "oras", "helm", "az",
            "oc", "regctl", "npm", "cf", "ibmcloud", "vault",
        ],
        "login",
        &[Flag("-p"), Flag("--password"), After("login", 0)],
    ),
    of(&["cargo", "wandb", "gem", "flyctl"], &[After("login", 0)]),
    of(&["ngrok"], &[After("authtoken", 0), After("add-authtoken", 0)]),
    of(&["kubectl", "oc"], &[Behind("--from-literal", '=')]),
    of(
        &["openssl"],
        &[
            Behind("-passin", ':'),
            Behind("-passout", ':'),
            Behind("-pass", ':'),
            Next("-k"),
            Next("-K"),
            Flag("-password"),
        ],
    ),
    of(&["smbclient", "smbmap", "rpcclient", "smbget", "winexe"], &[Behind("-U", '%')]),
    of(
        &["ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd"],
        &[Flag("-w"), Flag("-s")],
    ),
    of(&["htpasswd"], &[Last('b')]),
    of(&["ssh-keygen"], &[Flag("-N"), Flag("-P")]),
    of(&["zip", "unzip", "zipcloak"], &[Flag("-P")]),
    of(&["7z", "7za", "7zz", "rar", "unrar"], &[Glued("-p"), Glued("-hp")]),
    of(
        &["keytool", "jarsigner", "apksigner"],
        &[
            Flag("-storepass"),
            Flag("-keypass"),
            Flag("-srcstorepass"),
            Flag("-deststorepass"),
            Behind("--ks-pass", ':'),
            Behind("--key-pass", ':'),
        ],
    ),
    verb(&["net"], "user", &[After("user", 1)]),
    verb(&["net"], "use", &[Share]),
    of(&["net"], &[Behind("-U", '%')]),
    of(&["plink", "pscp", "psftp", "putty", "winscp"], &[Flag("-pw")]),
    of(&["cmdkey", "xfreerdp", "wfreerdp", "mstsc"], &[Glued("/pass:"), Glued("/p:")]),
    of(&["lftp"], &[Behind("-u", ',')]),
    of(&["wpa_passphrase"], &[After("", 1)]),
    of(
        &["nmcli"],
        &[After("password", 0), AfterKey("wifi-sec.psk", 0), AfterKey("wireless-security.psk", 0)],
    ),
    of(
        &["npm", "pnpm", "yarn", "bun"],
        &[AfterKey("_authtoken", 0), AfterKey("_password", 0), AfterKey("_auth", 0)],
    ),
    of(
        &["poetry", "composer", "bundle"],
        &[
            AfterKey("http-basic.", 1),
            AfterKey("pypi-token.", 0),
            AfterKey("github-oauth.", 0),
            AfterKey("gitlab-token.", 0),
        ],
    ),
    of(
        &["aws"],
        &[
            AfterKey("aws_secret_access_key", 0),
            AfterKey("aws_session_token", 0),
            Flag("--secret-string"),
            Flag("--master-user-password"),
        ],
    ),
    verb(&["aws"], "SecureString", &[Flag("--value")]),
    verb(&["az"], "keyvault", &[Flag("--value")]),
    verb(&["gh", "glab"], "secret", &[Flag("--body"), Flag("-b")]),
    verb(&["rclone"], "create", &[After("pass", 0)]),
    verb(&["rclone"], "obscure", &[After("obscure", 0)]),
    verb(&["mc"], "alias", &[After("set", 3)]),
    of(
        &["nuget", "dotnet"],
        &[After("setapikey", 0), Flag("-ApiKey"), Flag("-k"), Flag("-Password")],
    ),
    of(
        &["vercel", "netlify", "flyctl", "fly", "doctl", "railway", "glab"],
        &[Flag("-t"), Flag("--auth")],
    ),
    of(&["consul", "nomad", "vault"], &[Flag("-token")]),
    of(&["vault"], &[Pairs]),
    of(&["snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"], &[Flag("-A"), Flag("-X"), Flag("-c")]),
    of(&["security"], &[Flag("-w"), Flag("-p"), Flag("-P")]),
    of(&["mount.cifs", "sshfs"], &[Behind("-o", '=')]),
    of(&["jenkins-cli", "jenkins-cli.jar"], &[Behind("-auth", ':')]),
    of(&["crackmapexec", "nxc", "evil-winrm", "psexec", "psexec64", "paexec"], &[Flag("-p")]),
    of(&["gpg", "gpg2"], &[Flag("--passphrase")]),
];

const fn of(names: &'static [&'static str], secrets: &'static [Taken]) -> Program {
    Program { names, needs: "", secrets }
}

const fn verb(
    names: &'static [&'static str],
    needs: &'static str,
    secrets: &'static [Taken],
) -> Program {
    Program { names, needs, secrets }
}

/// What a reader of command lines begins at: names of programs.
pub(super) const ANCHORS: &[&str] = &[
    "curl", "http ", "https ", "xh ", "httpie", "sshpass", "mytop", "unzip ", "unrar ", "zipcloak",
    "mysql", "mariadb", "mycli", "tnsping", "net use", "mongo", "redis-cli", "valkey-cli",
    "keydb-cli", "sqlcmd", "bcp ", "osql ", "isql ", "tsql ", "cqlsh", "cypher-shell", "nodetool",
    "beeline", "influx ", "ncftp", "sqlplus", "expdp", "impdp", "sqlldr", "rman ", "sqlcl",
    "clickhouse-client", "etcdctl", "snowsql", "neo4j-admin", "rabbitmq", "twine", "useradd",
    "usermod", "rdesktop", "mosquitto_", "ipmitool", "mqttx", "docker ", "podman ", "nerdctl ",
    "buildah ", "skopeo ", "crane ", "oras ", "helm ", "az login", "az keyvault", "oc login",
    "oc create", "regctl ", "npm ", "pnpm ", "yarn ", "bun ", "cf login", "ibmcloud", "vault ",
    "cargo login", "wandb ", "gem ", "flyctl", "ngrok", "kubectl", "openssl", "smbclient",
    "smbmap", "rpcclient", "smbget", "winexe", "ldap", "htpasswd", "ssh-keygen", "zip ", "7z ",
    "7za ", "7zz ", "rar ", "keytool", "jarsigner", "apksigner", "net user", "net rpc", "plink",
    "pscp", "psftp", "putty ", "winscp", "cmdkey", "xfreerdp", "wfreerdp", "mstsc", "lftp",
    "wpa_passphrase", "nmcli", "poetry config", "composer", "bundle config", "aws configure",
    "aws ssm", "aws secretsmanager", "aws rds", "gh secret", "rclone ", "mc alias", "nuget",
    "dotnet ", "vercel ", "netlify ", "fly ", "doctl ", "railway ", "glab ", "consul ", "nomad ",
    "snmp", "security ", "mount.cifs", "sshfs", "jenkins-cli", "crackmapexec", "nxc ",
    "evil-winrm", "psexec", "paexec", "gpg ", "gpg2 ",
];

/// Finds the passwords on the command line whose program stands at `start`.
pub(super) fn read(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    if !begins_a_word(text, start) {
        return;
    }
    let words = command(text, start, 64);
    let Some(program) = words.first().map(|word| &text[word.clone()]) else { return };
    for entry in PROGRAMS {
        if !entry.names.iter().any(|name| name.eq_ignore_ascii_case(program)) {
            continue;
        }
        let has = |needed: &str| words.iter().any(|word| text[word.clone()] == *needed);
        if entry.needs.is_empty() || has(entry.needs) {
            entry.secrets.iter().for_each(|secret| take(text, &words, secret, found));
        }
    }
}

fn take(text: &str, words: &[Range<usize>], taken: &Taken, found: &mut dyn FnMut(Range<usize>)) {
    let mut give = |range: Range<usize>| {
        if is_password(text, &range) {
            found(range);
        }
    };
    match taken {
        Flag(flag) => flag_values(text, words, flag, true).for_each(give),
        Next(flag) => {
            let values = words.windows(2).filter(|pair| text[pair[0].clone()] == **flag);
            values.map(|pair| pair[1].clone()).for_each(give);
        }
        Glued(flag) => flag_values(text, words, flag, false).for_each(give),
        Behind(flag, mark) => {
            for value in flag_values(text, words, flag, true) {
                // Where to find the password, not the password.
                if ["env:", "file:", "fd:", "stdin"]
                    .iter()
                    .any(|from| text[value.clone()].starts_with(from))
                {
                    continue;
                }
                let at =
                    text[value.clone()].find(*mark).map(|at| value.start + at + mark.len_utf8());
                match at {
                    Some(at) => give(at..value.end),
                    // A token alone, in place of a user and a password.
                    None if is_token(&text[value.clone()]) => give(value),
                    None => {}
                }
            }
        }
        Pairs => pair_values(text, words).for_each(give),
        _ => by_place(text, words, taken).into_iter().for_each(give),
    }
}

/// The word that is known by its place among the others.
fn by_place(text: &str, words: &[Range<usize>], taken: &Taken) -> Option<Range<usize>> {
    let word = |range: &Range<usize>| &text[range.clone()];
    match taken {
        After(name, nth) => {
            let is_name = |w: &Range<usize>| name.is_empty() || word(w).eq_ignore_ascii_case(name);
            let at = words.iter().position(is_name)?;
            let mut plain = words[at + 1..].iter().filter(|other| !word(other).starts_with('-'));
            plain.nth(*nth).cloned()
        }
        AfterKey(key, nth) => {
            let is_key = |other: &Range<usize>| {
                let other = word(other).to_ascii_lowercase();
                other.ends_with(key) || other.starts_with(key)
            };
            words.get(words.iter().position(is_key)? + 1 + nth).cloned()
        }
        Last(letter) => {
            let has = |other: &Range<usize>| {
                let other = word(other);
                other.starts_with('-') && !other.starts_with("--") && other.contains(*letter)
            };
            words.last().filter(|_| words.iter().any(has) && words.len() >= 4).cloned()
        }
        Slash => {
            let login = words[1..].iter().find(|other| word(other).contains('/'))?;
            let value = word(login);
            let from = value.find('/').map_or(0, |at| at + 1);
            let to = value.rfind('@').filter(|at| *at > from).unwrap_or(value.len());
            Some(login.start + from..login.start + to)
        }
        Share => {
            let mut plain = words.iter().filter(|other| !word(other).starts_with('/'));
            plain.find(|other| word(other).starts_with(r"\\"))?;
            plain.next().cloned()
        }
        _ => None,
    }
}

/// The values of `name=value` that are secrets by their name, or by how they look.
fn pair_values<'t>(
    text: &'t str,
    words: &'t [Range<usize>],
) -> impl Iterator<Item = Range<usize>> + 't {
    words.iter().filter_map(move |word| {
        let (name, value) = text[word.clone()].split_once('=')?;
        let value = value.trim_matches(['"', '\'']);
        let is_uuid = value.len() == 36 && value.matches('-').count() == 4;
        let looks = is_token(value) && !is_uuid && !is_wordy(value) && !value.starts_with('/');
        let from = word.start + name.len() + 1;
        let from = from + text[from..word.end].find(value)?;
        (!name.starts_with('-') && (names_a_secret(name) || looks))
            .then_some(from..from + value.len())
    })
}

/// The values that a flag has in a command.
fn flag_values<'t>(
    text: &'t str,
    words: &'t [Range<usize>],
    flag: &'t str,
    in_next: bool,
) -> impl Iterator<Item = Range<usize>> + 't {
    let short = flag.len() == 2;
    words.iter().enumerate().skip(1).filter_map(move |(at, word)| {
        let value = &text[word.clone()];
        // `-su` is `-s -u`.
        let grouped = short
            && value.len() <= 6
            && value.starts_with('-')
            && value.ends_with(&flag[1..])
            && value[1..].bytes().all(|byte| byte.is_ascii_alphabetic());
        if in_next && (value == flag || grouped) {
            return words.get(at + 1).cloned();
        }
        let glued = value.strip_prefix(flag)?;
        let glued = match glued.strip_prefix('=') {
            Some(value) => value,
            None if short || flag.ends_with(':') || !in_next => glued,
            None => return None,
        };
        let glued = glued.trim_start_matches(['"', '\'', '\\']);
        (!glued.is_empty()).then(|| word.end - glued.len()..word.end)
    })
}

/// Whether a word on a command line is a password rather than a place for one.
fn is_password(text: &str, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    value.len() >= 3
        && !value.starts_with(['<', '{', '[', '-', '@', '`', '('])
        && !value.contains("://")
        && !value.starts_with("env:")
        && !value.starts_with("file:")
        && !value.starts_with("/dev/")
        && !is_placeholder_at(text, range)
        && !is_test_password(value)
}

/// Whether a word is long and has letters and digits.
fn is_token(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a program's name may begin here: not within another word.
pub(super) fn begins_a_word(text: &str, start: usize) -> bool {
    let before = &text.as_bytes()[..start];
    match before.last() {
        None => true,
        Some(b'n' | b't' | b'r') if before.len() >= 2 && before[before.len() - 2] == b'\\' => true,
        Some(byte) => !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'.'),
    }
}

/// The words of a command that begins at `start`, without their quotes, at most so many.
pub(super) fn command(text: &str, start: usize, most: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let end = bytes.len().min(start + 2000);
    let (mut words, mut at) = (Vec::new(), start);
    while at < end && words.len() < most {
        match bytes[at] {
            b' ' | b'\t' => at += 1,
            // A line that goes on in the next one.
            b'\\' if matches!(bytes.get(at + 1), Some(b'\n')) => at += 2,
            b'\\' if matches!(bytes.get(at + 1..at + 3), Some(b"\r\n")) => at += 3,
            b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' | b'<' | b'>' => {
                // The number of what is led elsewhere: `2>&1`.
                let number = |word: &mut Range<usize>| {
                    word.end == at && word.len() == 1 && bytes[word.start].is_ascii_digit()
                };
                if bytes[at] == b'>' {
                    words.pop_if(number);
                }
                break;
            }
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r')) => break,
            _ => {
                let Some((word, next)) = word(bytes, at, end) else { break };
                words.push(word);
                at = next;
            }
        }
    }
    words.retain(|word| text.is_char_boundary(word.start) && text.is_char_boundary(word.end));
    words
}

/// The word at a place, without its quotes, and where it ends; none where a quote has no end.
fn word(bytes: &[u8], at: usize, end: usize) -> Option<(Range<usize>, usize)> {
    // `\"word\"`, as it stands in JSON.
    let escaped = bytes[at] == b'\\';
    let open = if escaped { at + 1 } else { at };
    let quote = bytes.get(open).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    if let Some(quote) = quote {
        let from = open + 1;
        let close = bytes[from..end].iter().position(|&byte| byte == quote || byte == b'\n');
        let close = from + close.filter(|close| bytes[from + close] == quote)?;
        let to =
            if escaped && close > from && bytes[close - 1] == b'\\' { close - 1 } else { close };
        let after = bytes.get(close + 1);
        if after.is_none_or(|byte| b" \t\r\n|;&)`\\<>\"',/".contains(byte)) {
            return Some((from..to, close + 1));
        }
    }
    let mut to = at;
    while to < end {
        match bytes[to] {
            b' ' | b'\t' | b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' | b'>' => break,
            b'"' | b'\'' => {
                // A quote within a word: `--user="a b"`; else the command stood in quotes itself.
                let quote = bytes[to];
                match bytes[to + 1..end].iter().position(|&byte| byte == quote) {
                    Some(close)
                        if to > at
                            && (bytes[to - 1] == b'=' || (to == at + 2 && bytes[at] == b'-')) =>
                    {
                        return Some((at..to + 1 + close, to + close + 2));
                    }
                    _ => break,
                }
            }
            // The same in JSON: `-p\"a b\"`.
            b'\\' if bytes.get(to + 1) == Some(&b'"') => {
                let opens =
                    to > at && (bytes[to - 1] == b'=' || (to == at + 2 && bytes[at] == b'-'));
                let close = bytes[to + 2..end].windows(2).position(|pair| pair == b"\\\"");
                match close {
                    Some(close) if opens => return Some((at..to + 2 + close, to + close + 4)),
                    _ => break,
                }
            }
            b'\\' if matches!(bytes.get(to + 1), Some(b'n' | b'\n')) => break,
            _ => to += 1,
        }
    }
    (to > at).then_some((at..to, to))
}

/// What reads what is piped into a program begins at.
pub(super) const PIPE_ANCHORS: &[&str] = &["echo ", "printf ", "<<<"];

/// Finds a password that is piped into a program which asks for one.
pub(super) fn read_piped(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    let rest = &text[start..];
    let value = if rest.starts_with("<<<") {
        let line = text[..start].rsplit(['\n', ';']).next().unwrap_or_default();
        if !asks(line) {
            return;
        }
        command(text, start + 3, 1).into_iter().next()
    } else {
        if !begins_a_word(text, start) {
            return;
        }
        let words = command(text, start, 8);
        let Some(last) = words.last().cloned() else { return };
        let after = super::cut(&text[last.end..], 300);
        let after = after.trim_start_matches(['"', '\'', '\\', ' ']);
        let next = after.split(['\n', ';']).next().unwrap_or_default();
        if words.len() < 2 || !next.starts_with('|') || !asks(next) {
            return;
        }
        Some(last)
    };
    let Some(value) = value else { return };
    let mut password = value.clone();
    // `root:password`, as `chpasswd` takes it.
    if let Some(at) = text[value.clone()]
        .find(':')
        .filter(|_| rest.contains("chpasswd") || text[..start].contains("chpasswd"))
    {
        password.start += at + 1;
    }
    let shown = text[password.clone()].trim_end_matches("\\n");
    let password = password.start..password.start + shown.len();
    if is_password(text, &password) {
        found(password);
    }
}

/// Whether a command reads a password from its input.
fn asks(command: &str) -> bool {
    const ASKING: &[&str] = &[
        "sudo -S",
        "sudo -kS",
        "sudo --stdin",
        "-stdin",
        "--with-token",
        "chpasswd",
        "passwd",
        "cryptsetup",
        "passphrase-fd",
        "kinit",
        "stdin",
        "login -",
        "docker secret create",
        "base64",
        "htpasswd",
        "su -",
        "secret put",
        "secret set",
        "secrets set",
        "secret create",
        "secrets create",
        "secrets versions add",
        "env add",
        "auth login",
        "--password-file -",
    ];
    ASKING.iter().any(|word| command.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, untouched};
    use super::*;

    #[test]
    fn the_reader_is_called_at_every_program() {
        for name in PROGRAMS.iter().flat_map(|program| program.names) {
            let call = format!("{name} ");
            let begins = |anchor: &&str| call.starts_with(*anchor) || anchor.starts_with(&call);
            assert!(ANCHORS.iter().any(begins), "`{name}` has no anchor");
        }
    }

    #[test]
    fn a_short_flag_of_openssl_is_a_word_of_its_own() {
        untouched("openssl req -x509 -nodes -keyout key.pem -out cert.pem");
        untouched("openssl pkcs8 -topk8 -keyform DER -in key.der");
        check(
            "openssl enc -aes-256-cbc -k Blau7Walkran -in a",
            "openssl enc -aes-256-cbc -k [redacted:command-password] -in a",
        );
    }

    #[test]
    fn single_quotes_keep_a_dollar_sign() {
        check(
            "mysql -u root -p'$chl0ssAllee9' shop",
            "mysql -u root -p'[redacted:command-password]' shop",
        );
        untouched("mysql -u root -p\"$DB_PASSWORD\" shop");
        untouched("mysql -u root -p$chl0ssAllee9 shop");
        untouched("sshpass -p '$PASSWORD' ssh host");
        check(
            "curl -u admin:Tr0ub4dor%sA8t https://x.acme.test",
            "curl -u admin:[redacted:command-password] https://x.acme.test",
        );
    }

    #[test]
    fn what_a_share_or_a_vault_is_given() {
        check(
            r"net use \\h\c$ /user:bob Blau7Walkran 2>&1",
            r"net use \\h\c$ /user:bob [redacted:command-password] 2>&1",
        );
        untouched(r"net use Z: \\h\share /persistent:yes");
        untouched("vault kv put secret/billing ttl=24h owner=team-a");
        check(
            "htpasswd -bc .htpasswd bob Blau7Walkran 2>&1",
            "htpasswd -bc .htpasswd bob [redacted:command-password] 2>&1",
        );
    }
}
