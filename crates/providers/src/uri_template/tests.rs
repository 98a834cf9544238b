//! Tables: the RFC's own examples for expanding, ours for matching.

use proptest::prelude::*;

use super::{Template, TemplateError, Variable, Variables};

/// The variables that the RFC's examples use.
fn example() -> Variables {
    let texts = [
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ];
    let mut variables: Variables = texts.into_iter().collect();
    let list = |items: &[&str]| Variable::List(items.iter().map(|it| (*it).to_owned()).collect());
    variables.set("count", list(&["one", "two", "three"]));
    variables.set("dom", list(&["example", "com"]));
    variables.set("list", list(&["red", "green", "blue"]));
    variables.set("empty_keys", Variable::Pairs(Vec::new()));
    let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
    let keys = keys.map(|(name, value)| (name.to_owned(), value.to_owned()));
    variables.set("keys", Variable::Pairs(keys.to_vec()));
    variables
}

/// `name=text` pairs; a `[` starts a list of items.
fn written(variables: &Variables) -> String {
    let one = |(name, value): (&str, &Variable)| match value {
        Variable::Text(text) => format!("{name}={text}"),
        Variable::List(items) => format!("{name}=[{}]", items.join("|")),
        Variable::Pairs(pairs) => format!("{name}={pairs:?}"),
    };
    variables.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn expands_the_examples_of_the_rfc() {
    let cases = [
        // Level 1 and 2.
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("X{#var}", "X#value"),
        ("X{#hello}", "X#Hello%20World!"),
        // Level 3.
        ("map?{x,y}", "map?1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{.var}", "X.value"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        // Level 4.
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#list*}", "#red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.empty_keys}", "X"),
        ("{/var:1,var}", "/v/value"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        ("{?var:3}", "?var=val"),
        ("{?list*}", "?list=red&list=green&list=blue"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
        ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
        ("www{.dom*}", "www.example.com"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
    ];
    for (text, expected) in cases {
        match Template::parse(text) {
            Ok(template) => assert_eq!(template.expand(&example()).unwrap(), expected, "{text}"),
            // The one example that cannot be matched.
            Err(error) => assert_eq!(text, "{/list*,path:4}", "{error}"),
        }
    }
}

#[test]
fn matches_uris() {
    // Template, URI, variables; `-` when the URI is not of the template's form.
    let cases = [
        ("note://all", "note://all", ""),
        ("note://all", "note://al", "-"),
        ("note://{id}", "note://7", "id=7"),
        ("note://{id}", "note://a%20b%2Fc", "id=a b/c"),
        ("note://{id}", "note://a:b@c", "id=a:b@c"),
        ("note://{id}", "note://gr\u{fc}n", "id=gr\u{fc}n"),
        ("note://{id}", "note://gr%c3%bcn", "id=gr\u{fc}n"),
        ("note://{id}", "note://100%", "id=100%"),
        ("note://{id}", "note://%FF", "-"),
        ("note://{id}", "note://", "-"),
        ("note://{id}", "note://a/b", "-"),
        ("note://{id}", "xnote://a", "-"),
        ("note://{id}/text", "note://7/text", "id=7"),
        ("note://{id}/text", "note://7/texts", "-"),
        ("n.te://{id}", "note://7", "-"),
        ("m\u{fc}://{id}", "m%C3%BC://1", "id=1"),
        ("{user}@{host}", "a@b", "user=a host=b"),
        ("{x,y}", "1,2", "x=1 y=2"),
        ("{x,y}", "1", "x=1"),
        ("{x,y}", "1,2,3", "-"),
        ("{list}", "a,b", "list=a,b"),
        ("{list*}", "a,b%2C", "list=[a|b,]"),
        ("{x,list*}", "a,b,c", "x=a list=[b|c]"),
        ("file://{+path}", "file:///a/b.txt", "path=/a/b.txt"),
        ("{+path}{?q}", "/a/b?q=1", "path=/a/b q=1"),
        ("{+path}{?q}", "/a/b", "path=/a/b"),
        ("{+path}/here", "/a/here/here", "path=/a/here"),
        ("{+x,y}", "/a,/b", "x=/a y=/b"),
        ("X{#x}", "X#/a,b", "x=/a,b"),
        ("X{#x}", "X#", "x="),
        ("X{#x}", "X", ""),
        ("{name}{.type}", "a.tar.gz", "name=a type=tar.gz"),
        ("X{.x,y}", "X.1.2", "x=1 y=2"),
        ("www{.dom*}", "www.a.b", "dom=[a|b]"),
        ("{/x,y}", "/1/2", "x=1 y=2"),
        ("{/x,y}", "/1", "x=1"),
        ("{/x}", "/", "x="),
        ("{/x,list*}", "/1/2/3", "x=1 list=[2|3]"),
        ("d:{/path*}", "d:/a/b%2Fc/", "path=[a|b/c|]"),
        ("d:{/path*}", "d:", ""),
        ("{/path*}{?q}", "/a/b?q=1", "path=[a|b] q=1"),
        ("{;x,y,e}", ";x=1;y=2;e", "x=1 y=2 e="),
        ("{;x,y}", ";y=2", "y=2"),
        ("{;x}", ";xy=2", "-"),
        ("{;list*}", ";list=a;list=b", "list=[a|b]"),
        ("s{?q,n}", "s?q=a%26b&n=2", "q=a&b n=2"),
        ("s{?q,n}", "s?n=2", "n=2"),
        ("s{?q,n}", "s", ""),
        ("s{?q,n}", "s?n=2&q=1", "-"),
        ("s{?q,n}", "s?other=2", "-"),
        ("s{?q}", "s?q=", "q="),
        ("s{?list*,n}", "s?list=a&list=b&n=1", "list=[a|b] n=1"),
        ("s{?n,list*}", "s?n=1&list=a&list=b", "n=1 list=[a|b]"),
        ("s{?list*}", "s?list=a", "list=[a]"),
        ("s{?list*}", "s?list=&list=b", "list=[|b]"),
        ("s?f=1{&x,y}", "s?f=1&y=2", "y=2"),
        ("{x}/{x}", "a/a", "x=a"),
        ("{x}/{x}", "a/b", "-"),
        ("{/var:1,var}", "/v/value", "var=value"),
        ("{/var:1,var}", "/w/value", "-"),
        ("{var:3}", "abc", "var=abc"),
        ("{var:3}", "abcd", "-"),
        ("{var:2}", "%C3%BC%C3%BC", "var=\u{fc}\u{fc}"),
    ];
    for (text, uri, expected) in cases {
        let found = Template::parse(text).unwrap().matches(uri);
        let found = found.map_or_else(|| "-".to_owned(), |it| written(&it));
        assert_eq!(found, expected, "{text} on {uri}");
    }
}

#[test]
fn refuses_what_cannot_be_matched_or_is_no_template() {
    let ambiguous = |name: &str| TemplateError::Ambiguous { variable: name.to_owned() };
    let cases = [("{a}{b}", "a"), ("{a}{+b}", "a"), ("{/list*,a}", "list"), ("{?q}{a}", "q")];
    for (text, name) in cases {
        assert_eq!(Template::parse(text).unwrap_err(), ambiguous(name), "{text}");
    }
    for text in ["{a", "a}", "{}", "{=a}", "{a b}", "{a:x}", "{a:0}", "{a*:3}", "a b", "%4"] {
        let error = Template::parse(text).unwrap_err();
        assert!(matches!(error, TemplateError::Syntax { .. }), "{text}: {error}");
    }
    let long = Template::parse(&"a".repeat(5000)).unwrap_err();
    assert_eq!(long, TemplateError::TooLong { length: 5000 });
    let many = Template::parse(&"{a}/".repeat(65)).unwrap_err();
    assert_eq!(many, TemplateError::TooManyVariables);
}

#[test]
fn a_prefix_of_a_list_cannot_be_expanded() {
    let error = Template::parse("{list:3}").unwrap().expand(&example()).unwrap_err();
    assert!(matches!(error, TemplateError::Prefix { .. }), "{error}");
}

#[test]
fn names_each_variable_once() {
    let template = Template::parse("{/a:1,a}{?b,c,a}").unwrap();
    assert_eq!(template.names().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn hostile_templates_and_uris_end() {
    let template = Template::parse(&"{/a*}/x".repeat(30)).unwrap();
    assert_eq!(template.matches(&"/x/".repeat(5000)), None);
    let query = (0..32).map(|it| format!("v{it}")).collect::<Vec<_>>().join(",");
    let template = Template::parse(&format!("s{{?{query}}}")).unwrap();
    assert_eq!(written(&template.matches("s?v3=1&v31=2").unwrap()), "v3=1 v31=2");
    assert_eq!(template.matches(&"s".repeat(100_000)), None);
}

proptest! {
    #[test]
    fn matching_undoes_expanding(id in ".{1,20}", path in "[^?#%]{1,20}") {
        let template = Template::parse("note://{id}/at/{+path}").unwrap();
        let variables: Variables = [("id", id), ("path", path)].into_iter().collect();
        let uri = template.expand(&variables).unwrap();
        prop_assert_eq!(template.matches(&uri), Some(variables), "{}", uri);
    }

    #[test]
    fn any_text_is_a_template_or_an_error(text in r"[{}a-c,*:?&/+#;.0-3]{0,30}", uri in ".{0,40}") {
        if let Ok(template) = Template::parse(&text) {
            template.matches(&uri);
        }
    }
}

#[test]
fn a_query_is_matched_whichever_variable_comes_first() {
    let cases = [
        ("x{?a,b}", "x", Some("")),
        ("x{?a,b}", "x?a=1", Some("a=1")),
        ("x{?a,b}", "x?b=2", Some("b=2")),
        ("x{?a,b}", "x?a=1&b=2", Some("a=1 b=2")),
        ("x{?a,b}", "x&a=1", None),
        ("x{?a,b}", "x&a=1&b=2", None),
        ("x{?a,b}", "x?a=1?b=2", Some("a=1?b=2")),
        ("x{?a,b}", "x?b=2&a=1", None),
        ("x{?a*,b}", "x?a=1&a=2&b=3", Some("a=[1|2] b=3")),
        ("x{?a*}", "x?a=1?a=2", Some("a=[1?a=2]")),
        ("x{?a}{&b}", "x?a=1&b=2", Some("a=1 b=2")),
    ];
    for (template, uri, expected) in cases {
        let template = Template::parse(template).expect("a template");
        let found = template.matches(uri).map(|it| written(&it));
        assert_eq!(found.as_deref(), expected, "{template} of {uri}");
    }
}

#[test]
fn a_compiled_template_takes_memory_in_proportion_to_its_text() {
    let names: Vec<String> = (0..32).map(|number| format!("v{number}")).collect();
    for operator in ["", "+", "#", ".", "/", ";", "?", "&"] {
        let text = format!("x:{{{operator}{}}}", names.join(","));
        let template = Template::parse(&text).expect("a template");
        let most = 150 * text.len() + 4096;
        assert!(template.memory() < most, "{operator}: {} of {most}", template.memory());
    }
    let many = format!("x:{{{},w}}", names.join(","));
    assert_eq!(Template::parse(&many).map(drop), Err(TemplateError::TooManyVariables));
}
