//! The server on Streamable HTTP: one thread for each connection, one connection for each request.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

use crate::conduct::Conduct;
use crate::script::{Act, Script};
use crate::stdio::{leave, shout};

/// A request.
struct Heard {
    method: String,
    /// What came in the header for secrets.
    secret: Option<String>,
    message: Value,
    /// All of it, as it came.
    text: String,
}

/// What is between the server and who is connected to it, and nobody else's.
const PRIVATE: &str =
    "Mcp-Session-Id: scripted-session\r\nSet-Cookie: scripted-cookie=1\r\nX-Scripted: 1\r\n";

/// Listens and serves for ever.
#[expect(clippy::print_stderr, reason = "whoever started it reads the port there")]
pub(crate) fn serve(script: &Arc<Script>) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    eprintln!("listening {}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let (stream, script) = (stream?, script.clone());
        thread::spawn(move || answer(&script, stream));
    }
    Ok(())
}

fn answer(script: &Script, stream: TcpStream) -> Result<()> {
    let mut source = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let heard = read(&mut source)?;
    let more = if script.conduct == Conduct::Recounts { PRIVATE } else { "" };
    script.note(heard.text);
    if script.conduct == Conduct::Redirects {
        let elsewhere = "Location: http://127.0.0.1:9/elsewhere\r\n";
        return head(&mut stream, "307 Temporary Redirect", elsewhere);
    }
    if heard.method != "POST" {
        return head(&mut stream, "405 Method Not Allowed", "");
    }
    if heard.message.get("id").is_none() || heard.message.get("method").is_none() {
        script.hear(&heard.message, None);
        return head(&mut stream, "202 Accepted", "");
    }
    if script.conduct == Conduct::Statuses && heard.message["method"] == "tools/call" {
        return match heard.message["params"]["arguments"]["status"].as_str() {
            Some(status) => head(&mut stream, status, "Retry-After: 7\r\n"),
            // Gone without a word.
            None => Ok(()),
        };
    }
    let acts = script.hear(&heard.message, heard.secret.as_deref());
    match acts.as_slice() {
        // Silence lasts until the other side gives up.
        [] => source.read(&mut [0]).map(drop),
        [Act::Say(text)] => {
            let about = format!("Content-Type: application/json\r\nContent-Length: {}", text.len());
            write!(stream, "HTTP/1.1 200 OK\r\n{more}{about}\r\nConnection: close\r\n\r\n")?;
            stream.write_all(text.as_bytes())
        }
        acts => say(&mut stream, acts),
    }
}

/// A stream of what it says.
fn say(stream: &mut TcpStream, acts: &[Act]) -> Result<()> {
    let about = "Content-Type: text/event-stream\r\nConnection: close";
    write!(stream, "HTTP/1.1 200 OK\r\n{about}\r\n\r\n")?;
    for act in acts {
        match act {
            Act::Say(text) => write!(stream, "event: message\ndata: {text}\n\n")?,
            Act::Shout => shout()?,
            Act::Die => leave(),
        }
        stream.flush()?;
    }
    Ok(())
}

fn head(stream: &mut TcpStream, status: &str, more: &str) -> Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

fn read(source: &mut BufReader<TcpStream>) -> Result<Heard> {
    let mut line = String::new();
    source.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let (mut text, mut length, mut secret) = (line, 0, None);
    loop {
        let mut line = String::new();
        source.read_line(&mut line)?;
        text.push_str(&line);
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "x-scripted-secret" => secret = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    source.read_exact(&mut body)?;
    text.push_str(&String::from_utf8_lossy(&body));
    Ok(Heard { method, secret, message: serde_json::from_slice(&body).unwrap_or_default(), text })
}
