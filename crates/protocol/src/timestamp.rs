//! Moments as the protocol writes them: ISO 8601 in UTC, to the millisecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// Milliseconds since 1970.
pub fn millis(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The moment as text.
pub fn write(moment: SystemTime) -> String {
    let mut text = String::with_capacity(LENGTH);
    append(moment, &mut text);
    text
}

/// Writes the moment to the end of a text.
pub fn append(moment: SystemTime, text: &mut String) {
    let millis = millis(moment);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    let parts = [
        (year, 1000, '-'),
        (month, 10, '-'),
        (day, 10, 'T'),
        (hour, 10, ':'),
        (minute, 10, ':'),
        (second, 10, '.'),
        (millis, 100, 'Z'),
    ];
    for (number, mut place, end) in parts {
        while place > 0 {
            // One digit.
            text.push(char::from(b'0' + (number / place % 10) as u8));
            place /= 10;
        }
        text.push(end);
    }
}

/// How long the text of a moment is.
const LENGTH: usize = "2026-07-28T00:00:00.000Z".len();

/// Reads a moment in UTC: a date, with or without a time, with or without a `Z` at its end.
pub fn read(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00"));
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if date.next().is_some() || !(1970..10_000).contains(&year) {
        return None;
    }
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next().unwrap_or(Some(0))?);
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    if time.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = day_of(year, month, day)? * DAY + hour * 3600 + minute * 60 + second;
    let since = Duration::from_secs(seconds) + Duration::from_millis(fraction.parse().ok()?);
    UNIX_EPOCH.checked_add(since)
}

/// The day counted from 1970 that has this date, if there is one.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let (years, months) =
        if month > 2 { (year, month - 3) } else { (year - 1, month.checked_add(9)?) };
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day;
    let number = days.checked_sub(1 + 719_468)?;
    (date(number) == (year, month, day)).then_some(number)
}

/// The date of a day counted from 1970. Years are counted from March, so that the odd day of a
/// leap year is the last; 719468 days lie between the first of March of the year 0 and 1970.
pub fn date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_785_196_800_007, "2026-07-28T00:00:00.007Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
        ];
        for (millis, expected) in cases {
            let moment = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(write(moment), expected);
            assert_eq!(read(expected), Some(moment), "{expected}");
        }
    }

    #[test]
    fn moments_that_people_write() {
        let cases = [
            ("2026-07-28", Some("2026-07-28T00:00:00.000Z")),
            ("2026-07-28T12:30", Some("2026-07-28T12:30:00.000Z")),
            ("2026-07-28T12:30:05.5Z", Some("2026-07-28T12:30:05.500Z")),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-00-01", None),
            ("2026-01-00", None),
            ("2026-01", None),
            ("1969-12-31", None),
            ("2026-01-01T24:00", None),
            ("now", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).map(write).as_deref(), expected, "{text}");
        }
    }
}
