//! The header `Date`, written once a second.

use std::cell::RefCell;
use std::time::SystemTime;

use gantry_protocol::timestamp;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

thread_local! {
    /// The last second that was written.
    static LAST: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Writes this moment.
pub(super) fn put(out: &mut Vec<u8>) {
    let second = timestamp::millis(SystemTime::now()) / 1000;
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second || text.is_empty() {
            (*last, *text) = (second, write(second));
        }
        out.extend_from_slice(text.as_bytes());
    });
}

/// A second since 1970, as HTTP writes it (RFC 9110, section 5.6.7).
fn write(second: u64) -> String {
    let days = second / 86_400;
    let (year, month, day) = timestamp::date(days);
    let (hour, minute, second) = (second % 86_400 / 3600, second % 3600 / 60, second % 60);
    let name = DAYS[(days % 7) as usize];
    let month = MONTHS[(month as usize).clamp(1, 12) - 1];
    format!("{name}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_others_write_them() {
        for (second, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        ] {
            assert_eq!(write(second), text);
        }
    }
}
