//! The server on Streamable HTTP: one thread for each connection, one connection for each request.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::attack::Attack;
use crate::payload;

/// Listens and serves for ever.
#[expect(clippy::print_stderr, reason = "whoever started it reads the port there")]
pub(crate) fn serve(attack: Attack) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    eprintln!("listening {}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || answer(attack, stream));
    }
    Ok(())
}

fn answer(attack: Attack, mut stream: TcpStream) -> Result<()> {
    if attack == Attack::Reset && is_call(&stream)? {
        begin_json(&mut stream, 1 << 20)?;
        // What is closed with bytes unread is reset.
        return stream.write_all(b"{\"jsonrpc\":");
    }
    let mut source = BufReader::new(stream.try_clone()?);
    let (method, body) = read(&mut source)?;
    if method == "GET" && attack == Attack::ListChanged {
        return events(attack, &Value::Null, &mut stream);
    }
    if method != "POST" {
        return head(&mut stream, "405 Method Not Allowed");
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if message["method"] == "tools/call" && message["params"]["name"] == "odd" {
        return begin(attack, &message["id"], &mut stream, &mut source);
    }
    match payload::answer(attack, &message) {
        Some(text) => json(&mut stream, &text),
        None => head(&mut stream, "202 Accepted"),
    }
}

fn head(stream: &mut TcpStream, status: &str) -> Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

fn json(stream: &mut TcpStream, text: &str) -> Result<()> {
    begin_json(stream, text.len())?;
    stream.write_all(text.as_bytes())
}

fn begin_json(stream: &mut TcpStream, length: usize) -> Result<()> {
    let about = format!("Content-Type: application/json\r\nContent-Length: {length}");
    write!(stream, "HTTP/1.1 200 OK\r\n{about}\r\nConnection: close\r\n\r\n")
}

fn events(attack: Attack, id: &Value, stream: &mut TcpStream) -> Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
    let text = payload::repeated(attack, id).unwrap_or_default();
    endless(stream, format!("data: {text}\n\n").repeat(100).as_bytes())
}

fn endless(stream: &mut TcpStream, bytes: &[u8]) -> Result<()> {
    loop {
        stream.write_all(bytes)?;
    }
}

fn begin(
    attack: Attack,
    id: &Value,
    stream: &mut TcpStream,
    source: &mut BufReader<TcpStream>,
) -> Result<()> {
    if let Some(message) = payload::message(attack, id) {
        return json(stream, &message);
    }
    if payload::repeated(attack, id).is_some() {
        return events(attack, id, stream);
    }
    let text = payload::answer(attack, &serde_json::json!({"id": id, "method": "tools/call"}));
    let text = text.unwrap_or_default();
    match attack {
        Attack::EndlessHeaders => {
            write!(stream, "HTTP/1.1 200 OK\r\n")?;
            endless(stream, b"X-Noise: noise\r\n".repeat(1000).as_slice())
        }
        Attack::EndlessHeader => {
            write!(stream, "HTTP/1.1 200 OK\r\nX-Noise: ")?;
            endless(stream, b"noise".repeat(1000).as_slice())
        }
        Attack::EndlessContinue => {
            endless(stream, b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000).as_slice())
        }
        Attack::EndlessBody => {
            let about = "Content-Type: application/json\r\nTransfer-Encoding: chunked";
            write!(stream, "HTTP/1.1 200 OK\r\n{about}\r\n\r\n")?;
            endless(stream, format!("10000\r\n{}\r\n", " ".repeat(0x10000)).as_bytes())
        }
        Attack::BadChunk => {
            let about = "Content-Type: application/json\r\nTransfer-Encoding: chunked";
            write!(stream, "HTTP/1.1 200 OK\r\n{about}\r\n\r\nffffffffffffffffffff\r\n{text}")
        }
        Attack::SlowDrip => {
            begin_json(stream, text.len())?;
            for byte in text.bytes() {
                stream.write_all(&[byte])?;
                stream.flush()?;
                // The attack itself: slow.
                thread::sleep(Duration::from_millis(500));
            }
            Ok(())
        }
        Attack::ShortLength => {
            begin_json(stream, text.len() / 2)?;
            stream.write_all(text.as_bytes())
        }
        Attack::LongLength => {
            begin_json(stream, 1 << 40)?;
            stream.write_all(text.as_bytes())
        }
        Attack::Redirects => {
            let status = "307 Temporary Redirect\r\nLocation: /mcp";
            head(stream, status)
        }
        Attack::HugeEvent => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")?;
            endless(stream, " ".repeat(1 << 16).as_bytes())
        }
        // Until the other side gives up.
        _ => source.read(&mut [0]).map(drop),
    }
}

/// Whether a call of the tool `odd` has come, which stays unread.
fn is_call(stream: &TcpStream) -> Result<bool> {
    let (mut seen, mut bytes) = (0, [0; 4096]);
    loop {
        let length = stream.peek(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let is_whole = text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.ends_with('}'));
        if text.contains("\"tools/call\"") || is_whole || length == 0 || length == bytes.len() {
            return Ok(text.contains("\"odd\""));
        }
        if length == seen {
            thread::yield_now();
        }
        seen = length;
    }
}

fn read(source: &mut BufReader<TcpStream>) -> Result<(String, Vec<u8>)> {
    let mut line = String::new();
    source.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        source.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    source.read_exact(&mut body)?;
    Ok((method, body))
}
