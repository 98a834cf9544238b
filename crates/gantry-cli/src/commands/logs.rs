//! `gantry logs`: what the program of a server has written to standard error.

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry::RawJson;

use crate::admin_client::{AdminClient, GatewayTarget, page};
use crate::commands::completions;
use crate::exit::Exit;
use crate::render;

/// How often the log is looked at when it is followed.
const PAUSE: Duration = Duration::from_millis(500);

/// Whose log.
#[derive(Debug, Args)]
pub(crate) struct LogsOptions {
    /// Name of the server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: String,

    /// Follow new lines until Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,
}

pub(crate) async fn run(options: &LogsOptions) -> Result<(), Exit> {
    let running = AdminClient::find(&options.reach).await?;
    let page = page(&options.name, "/log");
    let mut told = Told::default();
    let news = told.news(look(&running, &page).await?);
    if !options.follow {
        if news.is_empty() {
            render::say(&format!("`{}` has written nothing to standard error", options.name));
        }
        return render::print(&render::visible(&news));
    }
    let mut is_read = render::stream(&news)?;
    while is_read {
        tokio::time::sleep(PAUSE).await;
        is_read = render::stream(&told.news(look(&running, &page).await?))?;
    }
    Ok(())
}

/// A log, and the name of the connection it is of; an empty one for the connection that all share.
type Log = (String, String);

async fn look(running: &AdminClient, page: &str) -> Result<Vec<Log>, Exit> {
    let answer = running.get(page).await?;
    let text = |json: &RawJson, key| json.get(key).and_then(|it| it.to_text()).unwrap_or_default();
    let own = answer.get("connections").unwrap_or(RawJson::NULL);
    let own = own.elements().map(|own| (text(&own, "name"), text(&own, "log")));
    Ok([(String::new(), text(&answer, "log"))].into_iter().chain(own).collect())
}

/// What was shown of each log, and of which the last was.
#[derive(Debug, Default)]
struct Told {
    seen: HashMap<String, String>,
    last: String,
}

impl Told {
    /// What is new, with a line wherever another connection has the word.
    fn news(&mut self, logs: Vec<Log>) -> String {
        let mut news = String::new();
        let mut now = HashMap::new();
        for (name, log) in logs {
            let seen = self.seen.get(&name).map_or("", String::as_str);
            let new = &log[overlap(seen, &log)..];
            if !new.is_empty() && name != self.last {
                if !news.is_empty() && !news.ends_with('\n') {
                    news.push('\n');
                }
                news.push_str(&match name.is_empty() {
                    true => "--- shared connection\n".to_owned(),
                    false => format!("--- the connection of {name}\n"),
                });
                self.last.clone_from(&name);
            }
            news.push_str(new);
            now.insert(name, log);
        }
        self.seen = now;
        news
    }
}

/// How much of the beginning of `now` is the end of `seen`: only the end of a log is kept, so its
/// beginning goes while it grows.
fn overlap(seen: &str, now: &str) -> usize {
    let (seen, now) = (seen.as_bytes(), now.as_bytes());
    // For each length of a beginning of `now`, the longest shorter one that it also ends with.
    let mut shorter = vec![0; now.len() + 1];
    let mut length = 0;
    for at in 1..now.len() {
        length = grow(now, &shorter, length, now[at]);
        shorter[at + 1] = length;
    }
    let mut length = 0;
    for byte in seen {
        let from = if length == now.len() { shorter[length] } else { length };
        length = grow(now, &shorter, from, *byte);
    }
    length
}

/// The longest beginning of `text` that ends with `byte` after one of `length` bytes.
fn grow(text: &[u8], shorter: &[usize], mut length: usize, byte: u8) -> usize {
    while length > 0 && text[length] != byte {
        length = shorter[length];
    }
    if text.get(length) == Some(&byte) { length + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Told, overlap};

    #[test]
    fn only_what_is_new_is_shown() {
        let cases = [
            ("", "", ""),
            ("", "a\n", "a\n"),
            ("a\n", "a\n", ""),
            ("a\n", "a\na\n", "a\n"),
            ("a\nb\n", "b\nc\n", "c\n"),
            ("one\ntwo\n", "ne\ntwo\nthree\n", "three\n"),
            ("aaaa", "aaab", "b"),
            ("ab", "", ""),
            ("a\n", "b\n", "b\n"),
            ("ä\nö\n", "ö\nü\n", "ü\n"),
        ];
        for (seen, now, expected) in cases {
            assert_eq!(&now[overlap(seen, now)..], expected, "{seen:?} then {now:?}");
        }
    }

    #[test]
    fn every_connection_is_told_by_its_name() {
        let mut told = Told::default();
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("", "a\n")], "a\n"),
            (&[("", "a\n"), ("me 1", "b\n")], "--- the connection of me 1\nb\n"),
            (&[("", "a\n"), ("me 1", "b\nc\n")], "c\n"),
            (
                &[("", "a\nd\n"), ("me 1", "b\nc\n"), ("you 2", "e\n")],
                "--- shared connection\nd\n--- the connection of you 2\ne\n",
            ),
            (&[("", "a\nd\nf"), ("you 2", "e\n")], "--- shared connection\nf"),
            (&[("", "a\nd\nfg"), ("you 2", "e\nh\n")], "g\n--- the connection of you 2\nh\n"),
        ];
        for (logs, expected) in cases {
            let owned = logs.iter().map(|(name, log)| ((*name).to_owned(), (*log).to_owned()));
            assert_eq!(told.news(owned.collect()), expected, "{logs:?}");
        }
    }
}
