//! The control socket itself: who may use it, where it is, and when it goes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use gantry_tests::temp_folder::Bench;
use gantry_tests::test_server::soon;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::gateway::{Gateway, bench, directory, gantry, printed, sockets, stranger};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// A runtime directory of a test's own.
fn runtime(bench: &Bench, name: &str) -> String {
    let path = bench.folder.join(name);
    fs::create_dir_all(&path).expect("a folder");
    path.to_str().expect("text").to_owned()
}

#[tokio::test]
async fn it_is_private_and_goes_with_the_gateway() {
    let bench = bench("private");
    let runtime = runtime(&bench, "runtime");
    let cases: [(&[&str], Option<&str>); 4] =
        [(&[], None), (&["--stdio"], None), (&[], Some(&runtime)), (&["--stdio"], Some(&runtime))];
    for (words, runtime) in cases {
        let variables: Vec<(&str, &str)> =
            runtime.iter().map(|it| ("XDG_RUNTIME_DIR", *it)).collect();
        let place = runtime.map_or(directory(&bench), |it| Path::new(it).join("gantry"));
        let gateway = Gateway::start(&bench, words, &variables).await;
        let found = sockets(&place);
        assert_eq!(found, [place.join(format!("{}.sock", gateway.pid()))], "{words:?}");
        assert_eq!((mode(&place), mode(&found[0])), (0o700, 0o600), "{words:?}");
        let run = gantry(&bench, &["status"], &variables).await;
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        gateway.end(Signal::TERM).await;
        assert_eq!(sockets(&place), [""; 0].map(std::path::PathBuf::from), "{words:?}");
    }
}

#[tokio::test]
async fn a_killed_gateway_leaves_nothing_that_matters() {
    let bench = bench("killed");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    let old = sockets(&directory(&bench));
    gateway.end(Signal::KILL).await;
    assert_eq!(sockets(&directory(&bench)), old, "a stale socket");
    let run = gantry(&bench, &["status"], &[]).await;
    assert!(run.code == Some(6) && run.err.contains("no gateway is running"), "{run:?}");
    assert_eq!(sockets(&directory(&bench)).len(), 0, "it is cleaned up");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    gateway.end(Signal::KILL).await;
    let _gateway = Gateway::start(&bench, &[], &[]).await;
    assert_eq!(sockets(&directory(&bench)).len(), 1, "the next gateway cleans up too");
    assert_eq!(gantry(&bench, &["status"], &[]).await.code, Some(0));
}

#[tokio::test]
async fn another_user_is_refused() {
    let bench = bench("stranger");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    let place = directory(&bench);
    let socket = place.join(format!("{}.sock", gateway.pid()));
    let script = "become()\n\
                  try:\n    s.connect(sys.argv[1])\n    \
                  s.sendall(b'GET /api/servers HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n')\n    \
                  print('heard', s.recv(1000))\n\
                  except OSError as error: print(type(error).__name__)\n";
    let Some(child) = stranger(script, &socket) else { return };
    assert_eq!(printed(child).await, "PermissionError\n", "the modes keep it out");
    for path in [&bench.folder.join("gantry"), &place] {
        set_mode(path, 0o755);
    }
    set_mode(&socket, 0o666);
    let child = stranger(script, &socket).expect("this is root");
    let heard = printed(child).await;
    let refused = ["heard b''\n", "BrokenPipeError\n", "ConnectionResetError\n"];
    assert!(refused.contains(&heard.as_str()), "its credentials keep it out: {heard}");
    assert_eq!(gantry(&bench, &["status"], &[]).await.code, Some(0));
}

#[tokio::test]
async fn nothing_is_sent_to_a_socket_of_another_user() {
    let bench = bench("served");
    let place = directory(&bench);
    fs::create_dir_all(&place).expect("a folder");
    // The file belongs to this user, but another one listens.
    let script = "s.bind(sys.argv[1])\nbecome()\ns.listen()\nprint('ready', flush=True)\n\
                  c, _ = s.accept()\nprint('heard', c.recv(1000))\n";
    let Some(mut child) = stranger(script, &place.join("7.sock")) else { return };
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let ready = soon("the impostor", lines.next_line()).await.expect("text");
    assert_eq!(ready.as_deref(), Some("ready"));
    let run = gantry(&bench, &["status"], &[]).await;
    assert!(run.code == Some(6) && run.err.contains("another user"), "{run:?}");
    let heard = soon("what it heard", lines.next_line()).await.expect("text");
    assert_eq!(heard.as_deref(), Some("heard b''"));
    soon("its end", child.wait()).await.expect("a status");
}

#[tokio::test]
async fn a_directory_that_others_can_write_to_is_not_looked_at() {
    let bench = bench("shared");
    let _gateway = Gateway::start(&bench, &[], &[]).await;
    for (mode, code) in [(0o770, 6), (0o702, 6), (0o755, 0), (0o700, 0)] {
        set_mode(&directory(&bench), mode);
        let run = gantry(&bench, &["status"], &[]).await;
        assert_eq!(run.code, Some(code), "{mode:o}: {run:?}");
    }
}

#[tokio::test]
async fn a_long_path_gives_way_to_a_shorter_one() {
    let bench = bench("long");
    let long = runtime(&bench, &"long-".repeat(30));
    let variables = [("XDG_RUNTIME_DIR", long.as_str())];
    let gateway = Gateway::start(&bench, &[], &variables).await;
    assert_eq!(sockets(&directory(&bench)).len(), 1, "the state directory is short enough");
    assert_eq!(gantry(&bench, &["status"], &variables).await.code, Some(0));
    gateway.end(Signal::TERM).await;
    // Now the state directory is too long as well.
    let state = [("XDG_STATE_HOME", long.as_str()), variables[0]];
    let gateway = Gateway::start(&bench, &[], &state).await;
    let user = rustix::process::geteuid().as_raw();
    let short = Path::new("/tmp").join(format!("gantry-{user}"));
    assert!(sockets(&short).contains(&short.join(format!("{}.sock", gateway.pid()))));
    assert_eq!(mode(&short), 0o700);
    assert_eq!(gantry(&bench, &["status"], &state).await.code, Some(0));
    gateway.end(Signal::TERM).await;
}

#[tokio::test]
async fn it_serves_administration_and_mcp_and_nothing_else() {
    let bench = bench("pages");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    let socket = directory(&bench).join(format!("{}.sock", gateway.pid()));
    let too_large = format!("POST /api/tools HTTP/1.1\r\ncontent-length: {}\r\n\r\n", 64 << 20);
    let cases = [
        ("GET /api/servers HTTP/1.1\r\n\r\n", "200"),
        ("GET /api/instance HTTP/1.1\r\n\r\n", "200"),
        ("POST /api/instance HTTP/1.1\r\n\r\n", "405"),
        ("GET /api/nothing HTTP/1.1\r\n\r\n", "404"),
        ("GET /healthz HTTP/1.1\r\n\r\n", "404"),
        ("GET /metrics HTTP/1.1\r\n\r\n", "404"),
        ("POST /mcp HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", "415"),
        ("POST /call HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", "404"),
        ("GET /sse HTTP/1.1\r\n\r\n", "404"),
        ("GET /ws HTTP/1.1\r\n\r\n", "404"),
        ("GET /ui/approvals HTTP/1.1\r\n\r\n", "404"),
        (too_large.as_str(), "413"),
        ("nonsense\r\n\r\n", "400"),
    ];
    for (request, status) in cases {
        let mut stream = UnixStream::connect(&socket).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut head = [0; 12];
        let read = soon("an answer", stream.read_exact(&mut head)).await;
        read.unwrap_or_else(|error| panic!("{request}: {error}"));
        assert_eq!(&head[9..], status.as_bytes(), "{request}");
    }
}
