//! `gantry logs`: what the program of a server has written to standard error.

use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::exit::Exit;
use super::running::{Reach, Running, page};
use super::{completions, render};

/// How often the log is looked at when it is followed.
const PAUSE: Duration = Duration::from_millis(500);

/// Whose log.
#[derive(Debug, Args)]
pub(crate) struct LogsOptions {
    /// The name of the server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: String,

    /// Go on with what is written from now on, until Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) reach: Reach,
}

pub(crate) async fn run(options: &LogsOptions) -> Result<(), Exit> {
    let running = Running::find(&options.reach)?;
    let page = page(&options.name, "/log");
    let mut seen = look(&running, &page).await?;
    if !options.follow {
        if seen.is_empty() {
            render::say(&format!("`{}` has written nothing to standard error", options.name));
        }
        return render::print_foreign(&seen);
    }
    let mut is_read = render::stream(&seen)?;
    while is_read {
        tokio::time::sleep(PAUSE).await;
        let now = look(&running, &page).await?;
        is_read = render::stream(&now[overlap(&seen, &now)..])?;
        seen = now;
    }
    Ok(())
}

async fn look(running: &Running, page: &str) -> Result<String, Exit> {
    let answer = running.get(page).await?;
    Ok(answer.get("log").and_then(|it| it.to_text()).unwrap_or_default())
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
    use super::overlap;

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
}
