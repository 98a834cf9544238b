//! The only place of the command line that writes to the terminal: results to standard output, all
//! else to standard error.

pub(crate) mod escape;
pub(crate) mod statistics;
pub(crate) mod table;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use gantry::{RawJson, ToolStatistics};
use gantry_protocol::json::JsonKind;

use crate::exit::{Code, Exit};
use crate::render::escape::json;
use crate::runtime::callers::Access;

pub(crate) use crate::render::escape::{json as json_text, log_line, one_line, visible};
pub(crate) use crate::render::table::{Style, Table};

/// Writes a result to standard output, with a line's end.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    write(format!("{text}{end}").as_bytes())
}

/// Writes a text of a tool to standard output: as it is into a pipe, and for a person with what cannot
/// be seen made visible.
pub(crate) fn print_foreign(text: &str) -> Result<(), Exit> {
    if is_watched() { print(&visible(text)) } else { print(text) }
}

/// Writes JSON to standard output, with what cannot be seen escaped.
pub(crate) fn print_json(text: &str) -> Result<(), Exit> {
    print(&json_text(text))
}

/// Writes a part of what has no end to standard output, with what cannot be seen made visible; false
/// when the reader has seen enough.
pub(crate) fn stream(text: &str) -> Result<bool, Exit> {
    write_out(visible(text).as_bytes())
}

/// The same for lines of JSON.
pub(crate) fn stream_json(lines: &str) -> Result<bool, Exit> {
    write_out(json_text(lines).as_bytes())
}

/// The same for a text that is dressed already, and holds nothing that others wrote as it is.
pub(crate) fn stream_styled(text: &str) -> Result<bool, Exit> {
    write_out(text.as_bytes())
}

/// Writes bytes to standard output. A reader that has seen enough is no failure.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Exit> {
    write_out(bytes).map(drop)
}

/// Writes bytes to standard output; false when the reader has seen enough.
fn write_out(bytes: &[u8]) -> Result<bool, Exit> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Exit::new(Code::Failed, format!("standard output failed: {error}"))),
    }
}

/// Whether a person reads the results.
pub(crate) fn is_watched() -> bool {
    io::stdout().is_terminal()
}

/// Says something to the user that is not the result, with what cannot be seen made visible.
pub(crate) fn say(text: &str) {
    say_styled(&visible(text));
}

/// The same for a text that is dressed already. Nothing can be done when nobody listens.
pub(crate) fn say_styled(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Asks the user for something that is typed behind it.
pub(crate) fn ask(text: &str) {
    let mut error = io::stderr().lock();
    let _ = write!(error, "{}", visible(text)).and_then(|()| error.flush());
}

/// Prints the version.
pub(crate) fn version() -> Result<(), Exit> {
    print(&format!("gantry {}", env!("CARGO_PKG_VERSION")))
}

/// Says what was wrong with the command line, or prints the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done when the terminal is gone.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => Code::Usage.into(),
    }
}

/// Says why the program ends, and what to do.
pub(crate) fn failure(exit: &Exit) -> ExitCode {
    let style = Style::of_stderr();
    if !exit.message.is_empty() {
        say_styled(&format!("{}: {}", style.red("error"), visible(&exit.message)));
    }
    if let Some(hint) = &exit.hint {
        say_styled(&format!("{}: {}", style.bold("hint"), visible(hint)));
    }
    exit.code.into()
}

/// Says what is wrong with the tools that were left out.
pub(crate) fn problems(problems: &[gantry::Problem]) {
    let style = Style::of_stderr();
    let kinds = [(true, style.bold("warning")), (false, style.red("left out"))];
    for (is_warning, word) in kinds {
        let of_kind = problems.iter().filter(|it| it.is_warning == is_warning);
        for problem in gantry::Problem::by_cause(of_kind) {
            say_styled(&format!("  {word} {}", visible(&problem)));
        }
    }
}

/// Says how many tools there are in folders, how many servers will bring more, and what is wrong with
/// the tools that were left out.
pub(crate) fn tools(count: usize, servers: usize, left_out: &[gantry::Problem]) {
    say(&format!("  {}", offered(count, servers, left_out.is_empty())));
    problems(left_out);
}

fn offered(count: usize, servers: usize, is_whole: bool) -> String {
    let number =
        |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let tools = number(count, "tool");
    match (count, servers) {
        (0, 0) if is_whole => format!("{tools}; `gantry tools new python text.count` writes one"),
        (_, 0) => tools,
        (0, _) => {
            format!("{} starting; `gantry status` shows them", number(servers, "server"))
        }
        _ => format!(
            "{tools} of folders, and {} starting; `gantry status` shows them",
            number(servers, "server")
        ),
    }
}

/// Prints what is known of tools.
pub(crate) fn statistics(tools: &[ToolStatistics]) -> Result<(), Exit> {
    print(&statistics::table(tools, Style::of_stdout()))
}

/// Prints what is known of one tool.
pub(crate) fn tool_statistics(tool: &ToolStatistics) -> Result<(), Exit> {
    print(&statistics::details(tool, Style::of_stdout()))
}

/// Greets the user of a gateway that has just begun to listen. A token is shown to who looks, and
/// once to whoever reads what is written: logs are kept by others.
pub(crate) fn listening(address: SocketAddr, access: &Access, client: &Path, admin: &Path) {
    let is_watched = io::stderr().is_terminal();
    let (headers, note) = match access {
        Access::Free => (String::new(), "Callers are not authenticated.".to_owned()),
        Access::Own { token, is_new } if *is_new || is_watched => {
            (bearer(token.expose()), format!("The token is kept in {}", client.display()))
        }
        Access::Own { .. } => (bearer("TOKEN"), format!("The token is in {}", client.display())),
        Access::Theirs => {
            let note = "Create a token with `gantry token create --name NAME`";
            (bearer("TOKEN"), note.to_owned())
        }
    };
    let ready = Style::of_stderr().bold("Gantry is ready");
    say_styled(&format!(
        "\n  {ready}   http://{address}/mcp\n\
         \n  Paste this into your client's configuration:\n\
         \n    {{\"mcpServers\": {{\"gantry\": {{\"type\": \"http\", \"url\": \"http://{address}/mcp\"{headers}}}}}}}\n\
         \n  {note}\n\
         \n  Older clients: http://{address}/sse    WebSocket: ws://{address}/ws\n\
         \n  Administration: http://{address}/api/tools with the token in {}\n\
         \n  Or let a client start it:  gantry serve --stdio      Stop with Ctrl-C.\n",
        admin.display()
    ));
}

/// The member of a client's entry that shows a token.
fn bearer(token: &str) -> String {
    format!(", \"headers\": {{\"Authorization\": \"Bearer {token}\"}}")
}

/// The columns of the bar.
const BAR: usize = 24;

/// The line that shows progress.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    watched: bool,
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { watched: io::stderr().is_terminal(), shown: false }
    }

    /// Shows the params of a progress notification.
    pub(crate) fn show(&mut self, params: &RawJson) {
        if self.watched {
            self.shown = true;
            let _ = write!(io::stderr().lock(), "\r\x1b[2K{}", line(params));
        }
    }

    /// Takes the line away, before something else is written.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

fn line(params: &RawJson) -> String {
    let number = |key: &str| params.get(key).and_then(|it| it.read::<f64>());
    let done = number("progress").unwrap_or_default();
    let message = params.get("message").and_then(|it| it.to_text()).unwrap_or_default();
    let message: String = one_line(&message).chars().take(40).collect();
    match number("total").filter(|total| *total > 0.0) {
        Some(total) => {
            let share = (done / total).clamp(0.0, 1.0);
            let filled = (share * BAR as f64) as usize;
            let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled));
            format!("  {bar} {:3.0} %  {message}", share * 100.0)
        }
        None => format!("  … {done}  {message}"),
    }
}

/// The value over several lines, with what cannot be seen escaped.
pub(crate) fn pretty(value: &RawJson) -> String {
    let mut text = String::new();
    write_json(&mut text, value, 0);
    json(&text).into_owned()
}

fn write_json(text: &mut String, value: &RawJson, depth: usize) {
    match value.kind() {
        JsonKind::Object => {
            let members = value.members().map(|it| (Some(it.key().into_owned()), it.value()));
            put_all(text, ['{', '}'], members, depth);
        }
        JsonKind::Array => put_all(text, ['[', ']'], value.elements().map(|it| (None, it)), depth),
        _ => text.push_str(value.as_str()),
    }
}

fn put_all(
    text: &mut String,
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (Option<String>, RawJson)>,
    depth: usize,
) {
    text.push(open);
    let mut is_empty = true;
    for (key, value) in parts {
        text.push_str(if is_empty { "\n" } else { ",\n" });
        is_empty = false;
        indent(text, depth + 1);
        if let Some(key) = key {
            text.push_str(RawJson::string(&key).as_str());
            text.push_str(": ");
        }
        write_json(text, &value, depth + 1);
    }
    if !is_empty {
        text.push('\n');
        indent(text, depth);
    }
    text.push(close);
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::offered;

    #[test]
    fn what_is_offered_at_the_start() {
        let cases = [
            (0, 0, true, "0 tools; `gantry tools new python text.count` writes one"),
            (0, 0, false, "0 tools"),
            (1, 0, true, "1 tool"),
            (0, 1, true, "1 server starting; `gantry status` shows them"),
            (2, 3, true, "2 tools of folders, and 3 servers starting; `gantry status` shows them"),
        ];
        for (tools, servers, is_whole, expected) in cases {
            assert_eq!(offered(tools, servers, is_whole), expected);
        }
    }
}

#[cfg(test)]
mod progress_tests {
    use super::line;
    use gantry::RawJson;

    #[test]
    fn lines() {
        let cases = [
            (r#"{"progress":1,"total":2,"message":"half"}"#, "  ━━━━━━━━━━━━──────────── "),
            (r#"{"progress":3,"total":2}"#, "  ━━━━━━━━━━━━━━━━━━━━━━━━ 100 %"),
            (r#"{"progress":7,"message":"a\nb"}"#, "  … 7  a b"),
            (r#"{"progress":7,"total":0}"#, "  … 7"),
        ];
        for (params, expected) in cases {
            let line = line(&RawJson::from_static(params));
            assert!(line.starts_with(expected), "{params}: {line}");
        }
    }
}

#[cfg(test)]
mod json_tests {
    use super::pretty;
    use gantry::RawJson;

    #[test]
    fn lines() {
        let cases = [
            (r#""a""#, "\"a\""),
            ("{}", "{}"),
            ("{\"a\u{202e}\":\"b\u{e0041}\"}", "{\n  \"a\\u202e\": \"b\\udb40\\udc41\"\n}"),
            ("[ ]", "[]"),
            (
                r#"{"b":1.0,"a":[1,{"c":null}]}"#,
                "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    {\n      \"c\": null\n    }\n  ]\n}",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(pretty(&RawJson::from_static(value)), expected, "{value}");
        }
    }
}
