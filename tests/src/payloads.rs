//! Texts that must arrive as they were sent: numbers that no other type holds, members that nobody
//! knows, keys in an order of their own, and every way to write a letter.

/// What is in all of them.
macro_rules! odd {
    () => {
        concat!(
            r#""zeta":9007199254740993,"alpha":123456789012345678901234567890,"exact":1.10,"#,
            r#""power":1e3,"minus":-0.0,"tiny":1E-400,"#,
            r#""escapes":"\u00e9 é \/ / \ud83d\ude00 \u0000 \u2028 \t","null":null,"#,
            r#""vendor.example/deep":{"z":{"y":[1.0,{"b":1,"a":2}]},"a":[ 1 , 2 ]},"#,
            r#""_vendor":{"2":2,"10":10,"1":1},"":"empty""#
        )
    };
}

/// A result of `tools/call`.
pub const CALL: &str = concat!(
    r#"{"vendorFirst":[1.10,1e3],"structuredContent":{"#,
    odd!(),
    r#"},"content":[{"type":"text","text":"\u00e9\/","vendor":{"#,
    odd!(),
    r#"},"_meta":{"vendor.example/kept":{"#,
    odd!(),
    r#"}}}],"isError":false,"_meta":{"vendor.example/order":{"z":1,"a":2},"big":9007199254740993},"#,
    r#""vendorLast":{"#,
    odd!(),
    "}}"
);

/// A result of `resources/read`.
pub const READ: &str = concat!(
    r#"{"vendorFirst":1.10,"contents":[{"uri":"scripted://note","vendor":{"#,
    odd!(),
    r#"},"text":"\u00e9\/"}],"_meta":{"vendor.example/order":{"z":1,"a":2}},"vendorLast":{"#,
    odd!(),
    "}}"
);

/// A result of `prompts/get`.
pub const PROMPT: &str = concat!(
    r#"{"vendorFirst":1e3,"messages":[{"role":"user","content":{"type":"text","text":"\u00e9\/","#,
    odd!(),
    r#"}}],"_meta":{"vendor.example/order":{"z":1,"a":2}},"vendorLast":{"#,
    odd!(),
    "}}"
);

/// A tool.
pub const TOOL: &str = concat!(
    r#"{"vendorFirst":1.10,"name":"odd","inputSchema":{"zz":1.10,"type":"object","x-vendor":{"#,
    odd!(),
    r#"}},"_meta":{"vendor.example/kept":{"#,
    odd!(),
    r#"}},"vendorLast":{"#,
    odd!(),
    "}}"
);

/// An error.
pub const ERROR: &str = concat!(r#"{"code":-31999,"message":"it failed é","data":{"#, odd!(), "}}");
