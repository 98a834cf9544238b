//! No gateway runs, and somebody else listens where one would: nothing is sent there.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;

use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use serde_json::json;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// What came to a listener so far: nothing, unless somebody connected.
fn heard(listener: &TcpListener) -> Option<String> {
    listener.set_nonblocking(true).expect("a listener");
    let (mut stream, _) = match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
        accepted => accepted.expect("a client"),
    };
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    Some(text)
}

#[tokio::test]
async fn no_verb_reaches_a_stranger() {
    let bench = Bench::new("control-impostor");
    bench.write("gantry/admin-token", TOKEN);
    let cases: [(&[&str], i32); 10] = [
        (&["status"], 6),
        (&["status", "files"], 6),
        (&["approve"], 6),
        (&["approve", "some-id"], 6),
        (&["deny", "some-id"], 6),
        (&["logs", "files"], 6),
        (&["restart", "files"], 6),
        // These do without a gateway.
        (&["trust"], 0),
        (&["token", "list"], 0),
        (&["tools", "pin"], 0),
    ];
    for (words, code) in cases {
        let impostor = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = impostor.local_addr().expect("an address").to_string();
        bench.write("gantry.json", &json!({"listen": address, "tools": ["./tools"]}).to_string());
        // As a gateway that was killed leaves it behind.
        bench.write(&format!("gantry/listening/{address}"), "");
        let mut run = command(program());
        run.args(words).current_dir(&bench.folder).env("XDG_STATE_HOME", &bench.folder);
        run.env_remove("GANTRY_CONFIG");
        let mut child = run.stdout(std::process::Stdio::null()).spawn().expect("it starts");
        let ended = async {
            loop {
                if let Some(text) = heard(&impostor) {
                    panic!("{words:?} sent this to a stranger: {text}");
                }
                if let Some(status) = child.try_wait().expect("a child") {
                    return status;
                }
                tokio::task::yield_now().await;
            }
        };
        let status = soon("the end of the command", ended).await;
        assert_eq!(heard(&impostor), None, "{words:?}");
        assert_eq!(status.code(), Some(code), "{words:?}");
    }
}
