//! Extra HTTP handlers that are mounted beside the MCP endpoint.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use gantry::{HandlerAccess, HttpHandler, Server, ServerSettings};
use gantry_tests::http::Outgoing;
use http::request::Parts;

/// Says what it was sent, and where.
struct Mirror(&'static str);

impl HttpHandler for Mirror {
    fn authenticate(&self, head: &Parts) -> Result<HandlerAccess, Box<http::Response<Bytes>>> {
        match head.headers.get("X-Refuse") {
            None if head.uri.path().ends_with("/open") => Ok(HandlerAccess::Open),
            None => Ok(HandlerAccess::Authenticated(self.0.into())),
            Some(_) => {
                let refusal = http::Response::builder().status(401);
                Err(Box::new(refusal.body(Bytes::from("not you")).expect("a response")))
            }
        }
    }

    fn serve(
        &self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = http::Response<Bytes>> + Send>> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let text = format!("{} {} {} {body}", self.0, request.method(), request.uri());
        Box::pin(async move {
            let response = http::Response::builder().status(201).header("X-Mirror", "yes");
            response.body(Bytes::from(text)).expect("a response")
        })
    }
}

async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    host: &str,
    body: &str,
) -> (u16, String) {
    let outgoing = Outgoing {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("Host".to_owned(), host.to_owned())],
        body: body.as_bytes().to_vec(),
    };
    let mut answer = outgoing.send(address).await;
    (answer.status, answer.text().await)
}

#[tokio::test]
async fn a_mounted_handler_is_served_under_its_path() {
    let mut doors = ServerSettings::default();
    doors.message.size = 100;
    let server = Server::new("annexed", "1")
        .handler("/api", Arc::new(Mirror("api")))
        .handler("/api/inner/", Arc::new(Mirror("inner")))
        .handler("/mcp", Arc::new(Mirror("never")))
        .metrics(|out| out.push_str("mirror_total 7\n"))
        .server_settings(doors)
        .build()
        .expect("nothing to register");
    let listening = server.listen("127.0.0.1:0").await.expect("a free port");
    let address = listening.address();
    let serving = tokio::spawn(listening.serve());
    let long = "x".repeat(101);
    let cases = [
        ("GET", "/api", "localhost", "", 201, "api GET /api "),
        ("POST", "/api/tools?x=1", "localhost", "hi", 201, "api POST /api/tools?x=1 hi"),
        ("PUT", "/api/inner/a", "localhost", "", 201, "inner PUT /api/inner/a "),
        ("GET", "/apiary", "localhost", "", 404, "nothing here"),
        ("GET", "/", "localhost", "", 404, "nothing here"),
        ("PUT", "/mcp", "localhost", "", 405, "use "),
        ("GET", "/api", "example.com", "", 403, "example.com"),
        ("POST", "/api", "localhost", &long, 413, "larger than the limit"),
        ("GET", "/api", "localhost", "hi", 413, "GET /api takes no body"),
        ("GET", "/api/open", "localhost", "", 201, "api GET /api/open "),
        ("POST", "/api/open", "localhost", "hi", 413, "POST /api/open takes no body"),
        ("POST", "/api", "localhost\r\nX-Refuse: yes", &long, 401, "not you"),
        ("GET", "/metrics", "localhost", "", 200, "mirror_total 7\n"),
    ];
    for (method, path, host, body, status, text) in cases {
        let (got, said) = send(address, method, path, host, body).await;
        assert_eq!(got, status, "{method} {path}: {said}");
        assert!(said.contains(text), "{method} {path}: {said}");
    }
    server.stop();
    serving.await.expect("it ends in good order");
}
