//! The rows of a checklist: a number, a title, and exchanges with what is expected of them or a
//! story that cannot be told in one exchange.

use std::pin::Pin;

use serde_json::Value;

use crate::request::Request;
use crate::test_server::{TestOptions, TestServer};

/// A story in progress.
pub type Story = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One row.
pub struct Check {
    /// Its number.
    pub number: u32,
    /// What must hold.
    pub title: &'static str,
    course: Course,
}

enum Course {
    Exchanges(Vec<HttpExchange>),
    Story(fn() -> Story),
}

/// A row of exchanges with the usual server.
pub fn wire(number: u32, title: &'static str, exchanges: impl Into<Vec<HttpExchange>>) -> Check {
    let course = Course::Exchanges(exchanges.into());
    Check { number, title, course }
}

/// A row that needs several steps.
pub fn story(number: u32, title: &'static str, story: fn() -> Story) -> Check {
    let course = Course::Story(story);
    Check { number, title, course }
}

impl Check {
    /// Holds the server to it. Panics with what was observed if it does not hold.
    pub async fn hold(self) {
        match self.course {
            Course::Story(story) => story().await,
            Course::Exchanges(exchanges) => {
                for exchange in exchanges {
                    exchange.hold().await;
                }
            }
        }
    }
}

/// A request and what is expected of its answer.
#[derive(Debug)]
pub struct HttpExchange {
    request: Request,
    plan: TestOptions,
    status: u16,
    wants: Vec<Want>,
}

/// What is expected of an answer.
#[derive(Debug)]
enum Want {
    At(String, Value),
    Has(String),
    Count(String),
    Lacks(String),
    Header(&'static str, Option<&'static str>),
    Empty,
}

impl HttpExchange {
    pub(crate) fn new(request: Request, status: u16) -> Self {
        Self { request, plan: TestOptions::default(), status, wants: Vec::new() }
    }

    /// Expects this value at the pointer, in the last message of the answer.
    pub fn at(self, pointer: &str, value: Value) -> Self {
        self.want(Want::At(pointer.to_owned(), value))
    }

    /// Expects something at the pointer.
    pub fn has(self, pointer: &str) -> Self {
        self.want(Want::Has(pointer.to_owned()))
    }

    /// Expects a whole number at the pointer, not less than zero.
    pub fn count(self, pointer: &str) -> Self {
        self.want(Want::Count(pointer.to_owned()))
    }

    /// Expects nothing at the pointer.
    pub fn lacks(self, pointer: &str) -> Self {
        self.want(Want::Lacks(pointer.to_owned()))
    }

    /// Expects a header of the answer.
    pub fn header(self, name: &'static str, value: &'static str) -> Self {
        self.want(Want::Header(name, Some(value)))
    }

    /// Expects a header not to be there.
    pub fn no_header(self, name: &'static str) -> Self {
        self.want(Want::Header(name, None))
    }

    /// Expects an empty body.
    pub fn empty(self) -> Self {
        self.want(Want::Empty)
    }

    /// Sends it to a server of this kind instead of the usual one.
    pub fn to(mut self, plan: TestOptions) -> Self {
        self.plan = plan;
        self
    }

    fn want(mut self, want: Want) -> Self {
        self.wants.push(want);
        self
    }

    async fn hold(self) {
        let test_server = TestServer::with(self.plan).await;
        let mut answer = self.request.send(test_server.address).await;
        let status = answer.status;
        let headers = |want: &Want| match want {
            Want::Header(name, _) => Some((*name, answer.header(name).map(str::to_owned))),
            _ => None,
        };
        let seen: Vec<_> = self.wants.iter().filter_map(headers).collect();
        let body = match answer.header("content-type") {
            Some("application/json" | "text/event-stream") => {
                answer.messages().await.pop().unwrap_or(Value::Null)
            }
            _ => Value::String(answer.text().await),
        };
        let context = format!("{:?}\ngot {status} {body}", self.request);
        assert_eq!(self.status, status, "status of {context}");
        for want in &self.wants {
            let held = match want {
                Want::At(pointer, value) => body.pointer(pointer) == Some(value),
                Want::Has(pointer) => body.pointer(pointer).is_some(),
                Want::Count(pointer) => body.pointer(pointer).is_some_and(Value::is_u64),
                Want::Lacks(pointer) => body.pointer(pointer).is_none(),
                Want::Empty => body == "" || body.is_null(),
                Want::Header(name, value) => {
                    seen.iter().any(|(it, found)| it == name && found.as_deref() == *value)
                }
            };
            assert!(held, "{want:?} of {context}");
        }
    }
}
