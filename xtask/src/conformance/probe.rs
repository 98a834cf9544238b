//! One question to the server under test: does it declare the tasks extension?

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::failure::{Failure, Outcome};

/// The extension's name in the capabilities of `server/discover`.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A server that takes longer is not worth waiting for.
const LIMIT: Duration = Duration::from_secs(10);

const DISCOVER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"xtask","version":"0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
);

/// Asks `server/discover` and looks for the extension in the answer.
pub(super) fn declares_tasks(url: &str) -> Outcome<bool> {
    let (authority, path) = split(url)?;
    let answer = post(authority, path).map_err(|source| {
        Failure::new(format!("`{url}` did not answer `server/discover`: {source}"))
    })?;
    Ok(answer.contains(EXTENSION))
}

fn post(authority: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let length = DISCOVER.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n\
         Content-Length: {length}\r\n\r\n{DISCOVER}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Host with port, and path, of a plain HTTP URL.
fn split(url: &str) -> Outcome<(&str, &str)> {
    let rest = url.strip_prefix("http://");
    let rest =
        rest.ok_or_else(|| Failure::new(format!("`{url}` does not begin with `http://`")))?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Ok((authority, if path.is_empty() { "/" } else { path }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn urls_are_split() {
        let cases = [
            ("http://127.0.0.1:80/mcp", Some(("127.0.0.1:80", "/mcp"))),
            ("http://127.0.0.1:80", Some(("127.0.0.1:80", "/"))),
            ("https://127.0.0.1/mcp", None),
        ];
        for (url, expected) in cases {
            assert_eq!(split(url).ok(), expected, "{url}");
        }
    }

    #[test]
    fn the_answer_decides() {
        for (extensions, expected) in
            [("{\"io.modelcontextprotocol/tasks\":{}}", true), ("{}", false)]
        {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
            let address = listener.local_addr().expect("it is bound");
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("the probe connects");
                let mut request = Vec::new();
                while !request.ends_with(DISCOVER.as_bytes()) {
                    let mut part = [0; 512];
                    let read = stream.read(&mut part).expect("the probe writes");
                    request.extend_from_slice(&part[..read]);
                }
                assert!(request.starts_with(b"POST /mcp HTTP/1.1\r\n"));
                write!(stream, "HTTP/1.1 200 OK\r\n\r\n{{\"extensions\":{extensions}}}")
                    .expect("it reads");
            });
            let declared = declares_tasks(&format!("http://{address}/mcp")).expect("it answers");
            server.join().expect("the server has seen the request");
            assert_eq!(declared, expected, "{extensions}");
        }
    }
}
