//! What a caller is told of a call that a policy refuses: whoever runs the gateway which rule it
//! was and what to do, anybody else that it is denied and whom to ask. The log has the rest.

use gantry_gateway::{CallError, Caller, ErrorKind};

/// The refusal of a call for something that the caller sees.
pub(crate) fn refusal(caller: &Caller, name: &str, why: String) -> CallError {
    if caller.is_local() {
        return CallError::new(ErrorKind::Refused, why);
    }
    let text = format!(
        "`{name}` is denied by a policy of this gateway; ask its administrator if you need it"
    );
    CallError::new(ErrorKind::Refused, text).with_private(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_local_user_is_told_the_rule() {
        let why = "`a` may not be called: rule `x` denies it";
        for (who, is_told) in [("local", true), ("bob", false), ("", false), ("Local", false)] {
            let error = refusal(&Caller::new(who), "a", why.to_owned());
            assert_eq!(error.public == why, is_told, "{who}");
            assert_eq!(error.private.as_deref(), (!is_told).then_some(why), "{who}");
            assert!(is_told || !error.public.contains('x'), "{who}: {}", error.public);
        }
    }
}
