//! Limits of the control socket.

use std::time::Duration;

use std::sync::Arc;

use gantry::{ServerSettings, ToolSettings, Tools};
use gantry_cli::admin::{Admin, ManifestFolder};
use gantry_tests::temp_folder::Bench;
use gantry_tests::test_server::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::test_server;

/// Long enough for an answer that does not wait.
const BRIEF: Duration = Duration::from_millis(100);

#[tokio::test]
pub(crate) async fn control_connections() {
    let settings = ServerSettings { control_connections: 2, ..ServerSettings::default() };
    let test_server = test_server(settings).await;
    let bench = Bench::new("limits-control");
    let tools = Tools::open(Vec::new(), ToolSettings::default());
    let admin = Admin::new(tools, ManifestFolder::in_folder(bench.folder.join("kept")), "token");
    let socket = bench.folder.join("control.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let user = rustix::process::geteuid().as_raw();
    let pages = (Admin::PREFIX, Arc::new(admin.without_token()) as Arc<_>);
    let serving = tokio::spawn(test_server.server.control(listener, pages, user).serve());
    let open = async || {
        let mut stream = UnixStream::connect(&socket).await.expect("the system takes it");
        let get = b"GET /api/tools HTTP/1.1\r\n\r\n";
        stream.write_all(get).await.expect("the system takes it");
        stream
    };
    let served = async |stream: &mut UnixStream| {
        let mut answer = [0; 12];
        let read = stream.read_exact(&mut answer).await;
        read.map(|_| answer).expect("an answer")
    };
    let (mut first, mut second) = (open().await, open().await);
    for stream in [&mut first, &mut second] {
        assert_eq!(&soon("an answer", served(stream)).await, b"HTTP/1.1 200");
    }
    let mut third = open().await;
    let waits = tokio::time::timeout(BRIEF, served(&mut third)).await;
    assert!(waits.is_err(), "the third waits");
    drop(first);
    assert_eq!(&soon("its turn", served(&mut third)).await, b"HTTP/1.1 200");
    test_server.server.stop();
    soon("the end of the socket", serving).await.expect("it did not panic");
}
