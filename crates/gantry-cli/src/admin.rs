//! Administration over HTTP: who holds the token may list, register and remove tools, and look
//! after servers. On the control socket the peer's credentials stand in for the token.

pub(crate) mod approvals;
pub(crate) mod manifest_folder;
pub(crate) mod pages;
pub(crate) mod servers;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod trust;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry::policy_set::PolicySet;
use gantry_gateway::ErrorDetail;
use gantry_gateway::contract::ErrorType;
use gantry_policy::Tokens;
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::Tools;
use gantry_providers::upstreams::Upstreams;
use gantry_server::{HandlerAccess, HttpHandler};
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};

use crate::admin::servers::Page;
use crate::config::reload::ReloadState;

pub use crate::admin::manifest_folder::{Instance, ManifestFolder};
pub use crate::admin::tools::Describe;

/// The pages under [`Admin::PREFIX`].
#[derive(Debug, Clone)]
pub struct Admin {
    tools: Tools,
    kept: ManifestFolder,
    servers: Option<Upstreams>,
    policies: Option<Arc<PolicySet>>,
    tokens: Option<Arc<Tokens>>,
    instance: Option<Arc<Instance>>,
    describe: Option<Describe>,
    configuration: Option<Arc<ReloadState>>,
    /// None where the transport has identified the administrator.
    token: Option<Token>,
}

/// An answer: its status and its JSON.
type Answer = (StatusCode, RawJson);

impl Admin {
    /// Where the pages are.
    pub const PREFIX: &str = "/api";

    /// Administration of these tools for who holds the token. What is registered is kept.
    pub fn new(tools: Tools, kept: ManifestFolder, token: impl Into<String>) -> Self {
        let token = Some(Token::new(token.into()));
        Self {
            tools,
            kept,
            servers: None,
            policies: None,
            tokens: None,
            instance: None,
            describe: None,
            configuration: None,
            token,
        }
    }

    /// Administration of these servers too.
    #[must_use]
    pub fn servers(mut self, servers: Upstreams) -> Self {
        self.servers = Some(servers);
        self
    }

    /// Administration of these policies too.
    #[must_use]
    pub fn policies(mut self, policies: Arc<PolicySet>) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Administration of these callers' tokens too.
    #[must_use]
    pub fn tokens(mut self, tokens: Arc<Tokens>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Describes the running gateway at `/api/instance`.
    #[must_use]
    pub fn instance(mut self, instance: Instance) -> Self {
        self.instance = Some(Arc::new(instance));
        self
    }

    /// Says at `/api/instance` and `/api/servers` how the files of the configuration stand.
    #[must_use]
    pub fn configuration(mut self, state: Arc<ReloadState>) -> Self {
        self.configuration = Some(state);
        self
    }

    /// Describes at `/api/tools/NAME/standing` how each tool stands with the policies.
    #[must_use]
    pub fn describe(mut self, describe: Describe) -> Self {
        self.describe = Some(describe);
        self
    }

    /// The same pages without a token, for the control socket, which accepts the administrator only.
    #[must_use]
    pub fn without_token(mut self) -> Self {
        self.token = None;
        self
    }

    /// The refusal of a request that does not show the token.
    fn refusal(&self, headers: &HeaderMap) -> Option<Response<Bytes>> {
        if self.token.as_ref().is_none_or(|token| token.is_shown_by(headers)) {
            return None;
        }
        let text = "this needs the administrator's token";
        let advice = "send it as `Authorization: Bearer TOKEN`; it is in the state directory";
        let mut response = respond(refuse(
            StatusCode::UNAUTHORIZED,
            ErrorType::AuthenticationError,
            (text, advice),
        ));
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        Some(response)
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let path = path(request);
        let name = path.strip_prefix("tools/");
        if let Some(answered) = name.and_then(|name| self.standing(request.method(), name)) {
            return answered.map_or_else(not_allowed, respond);
        }
        match (request.method(), path, name) {
            (&Method::GET, "tools", _) => respond(self.list()),
            (&Method::POST, "tools", _) => respond(self.register(request.body())),
            (&Method::GET, _, Some(name)) => respond(self.show(name)),
            (&Method::DELETE, _, Some(name)) => respond(self.remove(name)),
            (_, "tools", _) => not_allowed("GET, POST"),
            (_, _, Some(_)) => not_allowed("GET, DELETE"),
            _ => {
                let text = format!("there is no path {}/{path}", Self::PREFIX);
                let advice = "there are /api/tools, /api/servers, /api/tokens, /api/pins, \
                              /api/approvals and /api/trust";
                let told = (&*text, advice);
                respond(refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told))
            }
        }
    }
}

/// A page about policies.
enum AdminRequest {
    Approvals(approvals::Page),
    Trust(trust::Page),
}

impl HttpHandler for Admin {
    fn authenticate(&self, head: &Parts) -> Result<HandlerAccess, Box<Response<Bytes>>> {
        let Some(refusal) = self.refusal(&head.headers) else {
            return Ok(HandlerAccess::Authenticated("administrator".into()));
        };
        let answers = |policies| approvals::authenticate(policies, self.tokens.as_deref(), head);
        match self.policies.as_deref().and_then(answers) {
            Some(principal) => Ok(HandlerAccess::Authenticated(principal)),
            None => Err(Box::new(refusal)),
        }
    }

    fn serve(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let admin = self.clone();
        Box::pin(async move {
            if let Some(policies) = &admin.policies
                && let Some(answered) = approvals::by_token(policies, &request).await
            {
                return respond(answered);
            }
            if let (Some(policies), Some(tokens)) = (&admin.policies, &admin.tokens)
                && let Some(answered) = approvals::by_approver(policies, tokens, &request).await
            {
                return respond(answered);
            }
            if let Some(refusal) = admin.refusal(request.headers()) {
                return refusal;
            }
            if let Some(instance) = admin.instance.as_ref().filter(|_| path(&request) == "instance")
            {
                return match *request.method() {
                    Method::GET => {
                        let files = admin.configuration.as_ref().map(|it| it.files());
                        let instance = (**instance).clone().reading(files.unwrap_or_default());
                        respond((StatusCode::OK, instance.to_json()))
                    }
                    _ => not_allowed("GET"),
                };
            }
            if let Some(policies) = &admin.policies {
                match tools::answer(policies.pins(), &request) {
                    Some(Err(allowed)) => return not_allowed(allowed),
                    Some(Ok(answer)) => {
                        // What was accepted is listed before whoever accepted it hears of that.
                        if let Some(gateway) =
                            policies.gateway().filter(|_| request.method() == Method::POST)
                        {
                            gateway.run_publish_hooks();
                        }
                        return respond(answer);
                    }
                    None => {}
                }
                let page = match approvals::Page::of(&request) {
                    None => trust::Page::of(&request).map(|it| it.map(AdminRequest::Trust)),
                    page => page.map(|it| it.map(AdminRequest::Approvals)),
                };
                match page {
                    Some(Err(allowed)) => return not_allowed(allowed),
                    Some(Ok(AdminRequest::Approvals(page))) => {
                        return respond(page.answer(policies).await);
                    }
                    Some(Ok(AdminRequest::Trust(page))) => {
                        return respond(page.answer(policies).await);
                    }
                    None => {}
                }
            }
            if let Some(tokens) = &admin.tokens {
                match tokens::Page::of(&request) {
                    Some(Err(allowed)) => return not_allowed(allowed),
                    Some(Ok(page)) => return respond(page.answer(tokens).await),
                    None => {}
                }
            }
            match Page::of(request.method(), path(&request)) {
                Some(Err(allowed)) => return not_allowed(allowed),
                Some(Ok(page)) => {
                    let policies = admin.policies.as_deref();
                    let state = admin.configuration.as_deref();
                    return respond(page.answer(admin.servers.as_ref(), policies, state).await);
                }
                None => {}
            }
            // Manifests are files and folders: looking at them may block.
            let answered = tokio::task::spawn_blocking(move || admin.answer(&request)).await;
            answered.unwrap_or_else(|_| {
                let told = ("the request failed", "see the log");
                respond(refuse(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    ErrorType::ToolExecutionError,
                    told,
                ))
            })
        })
    }
}

/// The path of a request below [`Admin::PREFIX`].
fn path(request: &Request<Bytes>) -> &str {
    below(request.uri())
}

/// The path of an address below [`Admin::PREFIX`].
fn below(uri: &Uri) -> &str {
    uri.path().strip_prefix(Admin::PREFIX).unwrap_or_default().trim_start_matches('/')
}

/// A failure in the form of an error detail: what is wrong, and what to do about it.
fn refuse(status: StatusCode, error_type: ErrorType, (text, advice): (&str, &str)) -> Answer {
    let details = ObjectWriter::new().value("advice", advice).finish();
    let detail = ErrorDetail::new(error_type, text.to_owned()).with_details(&details);
    (status, ObjectWriter::new().value("error", &detail).finish())
}

fn respond((status, json): Answer) -> Response<Bytes> {
    let mut response = Response::new(json.bytes().clone());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn not_allowed(allowed: &'static str) -> Response<Bytes> {
    let advice = format!("use {allowed}");
    let told = ("method not allowed", &*advice);
    let refused = refuse(StatusCode::METHOD_NOT_ALLOWED, ErrorType::ValidationError, told);
    let mut response = respond(refused);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A secret; it is never printed.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new(token: String) -> Self {
        Self(token)
    }

    /// Whether a request shows it. The time this takes does not tell how much of it is right.
    pub(crate) fn is_shown_by(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default().trim();
        let pairs = shown.bytes().zip(self.0.bytes());
        let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
        !self.0.is_empty() && shown.len() == self.0.len() && difference == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let cases = [
            ("secret", Some("Bearer secret"), true),
            ("secret", Some("Bearer  secret "), true),
            ("secret", Some("Bearer secreT"), false),
            ("secret", Some("Bearer secret2"), false),
            ("secret", Some("Bearer secre"), false),
            ("secret", Some("Bearer "), false),
            ("secret", Some("Basic secret"), false),
            ("secret", Some("secret"), false),
            ("secret", None, false),
            ("", Some("Bearer "), false),
            ("", None, false),
        ];
        for (token, shown, expected) in cases {
            let mut headers = HeaderMap::new();
            if let Some(shown) = shown {
                headers.insert(AUTHORIZATION, shown.parse().expect("a header"));
            }
            let token = Token::new(token.to_owned());
            assert_eq!(token.is_shown_by(&headers), expected, "{shown:?}");
            assert_eq!(format!("{token:?}"), "Token(…)");
        }
    }
}
