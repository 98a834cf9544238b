//! The entry of a server, from the words of the command line.

use std::path::Path;

use gantry::{ObjectWriter, RawJson};

use crate::commands::add::{AddOptions, Transport};
use crate::commands::import::translate::is_address;
use crate::exit::{Code, Exit};

/// The entry that the options describe.
pub(crate) fn entry(options: &AddOptions) -> Result<RawJson, Exit> {
    // `-e A=1 B=2 -- COMMAND` gives two variables, and so does a shell's `A=1 B=2 COMMAND`.
    let count = options.words.iter().take_while(|word| is_assignment(word)).count();
    let (assigned, words) = options.words.split_at(count);
    let Some((first, rest)) = words.split_first() else {
        return Err(usage("there is nothing to add", "give an address, or `--` and a command"));
    };
    let whole = with_scheme(first, rest, options.transport);
    let first = whole.as_deref().unwrap_or(first);
    let is_address = first.contains("://");
    match options.transport {
        None if is_address => of_address(options, first, rest, None),
        None | Some(Transport::Stdio) if is_address => Err(contradiction(first)),
        None | Some(Transport::Stdio) => of_command(options, assigned, first, rest),
        Some(Transport::Http) => of_address(options, first, rest, Some("http")),
        Some(Transport::Sse) => of_address(options, first, rest, Some("sse")),
        Some(Transport::Ws) => of_address(options, first, rest, Some("ws")),
    }
}

/// The whole address, where one is given without its scheme: `example.com/mcp`, `localhost:3000/mcp`.
/// What is a program here stays one.
fn with_scheme(word: &str, rest: &[String], transport: Option<Transport>) -> Option<String> {
    let (host, path) = word.split_once('/').map_or((word, None), |it| (it.0, Some(it.1)));
    let (name, port) = host.split_once(':').map_or((host, None), |it| (it.0, Some(it.1)));
    let is_label =
        |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let is_local = name == "localhost" || name.parse::<std::net::Ipv4Addr>().is_ok();
    let is_domain = name.contains('.') && name.split('.').all(is_label);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_said = matches!(transport, Some(Transport::Http | Transport::Sse | Transport::Ws));
    let is_place = path.is_some() || port.is_some() || is_said;
    let is_host = (is_local || is_domain) && is_port && is_place;
    if !is_host
        || !rest.is_empty()
        || transport == Some(Transport::Stdio)
        || Path::new(word).exists()
    {
        return None;
    }
    // What listens on this machine rarely has a certificate.
    let is_plain = name == "localhost" || name.starts_with("127.");
    let scheme = match (transport, is_plain) {
        (Some(Transport::Ws), true) => "ws",
        (Some(Transport::Ws), false) => "wss",
        (_, true) => "http",
        (_, false) => "https",
    };
    Some(format!("{scheme}://{word}"))
}

fn contradiction(url: &str) -> Exit {
    let text = format!("`{url}` is an address, and stdio starts a command");
    usage(&text, "leave `--transport` out, or give `--transport http`")
}

fn is_assignment(word: &str) -> bool {
    let is_plain = |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_plain(name))
}

fn of_command(
    options: &AddOptions,
    assigned: &[String],
    command: &str,
    args: &[String],
) -> Result<RawJson, Exit> {
    if let Some(header) = options.header.first() {
        let text = format!("a command takes no headers, such as `{header}`");
        return Err(usage(&text, "give a variable with `--env`, or an address"));
    }
    if args.is_empty() && command.contains(' ') && !Path::new(command).exists() {
        let text = format!("there is no program `{command}`");
        return Err(usage(&text, &format!("write its words separately: -- {command}")));
    }
    let pairs = [&options.env, assigned].concat();
    let env = group(&pairs, |pair| {
        let pair = pair.split_once('=').filter(|(name, _)| !name.is_empty());
        pair.ok_or_else(|| usage("`--env` has the wrong form", "write it as `--env KEY=VALUE`"))
    })?;
    let args = Some(args).filter(|it| !it.is_empty());
    let entry = ObjectWriter::new().value("command", command).value_some("args", args.as_ref());
    Ok(entry.raw_some("env", env.as_ref()).finish())
}

fn of_address(
    options: &AddOptions,
    url: &str,
    rest: &[String],
    kind: Option<&str>,
) -> Result<RawJson, Exit> {
    if !is_address(url, kind) {
        let text = match kind {
            Some(kind) => format!("`{url}` is not a URL of the transport `{kind}`"),
            None => format!("`{url}` is not the URL of a server"),
        };
        let hint = match kind {
            Some("ws") => "write it as wss://example.com/mcp",
            _ => "write it as https://example.com/mcp",
        };
        return Err(usage(&text, hint));
    }
    if let Some(word) = rest.first() {
        let text = format!("nothing may follow the address, such as `{word}`");
        return Err(usage(&text, "put `--` before a command that starts a server"));
    }
    if let Some(pair) = options.env.first() {
        let name = pair.split('=').next().unwrap_or_default();
        let text = format!("a remote server takes no environment variables, such as `{name}`");
        return Err(usage(&text, "give a header with `--header`"));
    }
    let headers = group(&options.header, |header| {
        let header = header.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let is_name = |name: &str| http::HeaderName::try_from(name).is_ok();
        header.filter(|(name, _)| is_name(name)).ok_or_else(|| {
            usage("`--header` has the wrong form", "write it as `--header 'Name: value'`")
        })
    })?;
    let entry = ObjectWriter::new().value_some("type", kind.as_ref()).value("url", url);
    Ok(entry.raw_some("headers", headers.as_ref()).finish())
}

/// An object of what was given more than once, the last of one name; nothing if nothing was given.
fn group<'a>(
    given: &'a [String],
    split: impl Fn(&'a str) -> Result<(&'a str, &'a str), Exit>,
) -> Result<Option<RawJson>, Exit> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for word in given {
        let (name, value) = split(word)?;
        pairs.retain(|pair| pair.0 != name);
        pairs.push((name, value));
    }
    let written =
        pairs.iter().fold(ObjectWriter::new(), |object, (name, value)| object.value(name, value));
    Ok(Some(written.finish()).filter(|_| !given.is_empty()))
}

fn usage(text: &str, hint: &str) -> Exit {
    Exit::new(Code::Usage, text).hint(hint)
}
