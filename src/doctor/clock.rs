//! How far the service's clock is from this machine's, from the `Date` headers of its replies. A `Date` says only the
//! second, but each reply bounds the offset from both sides, and the bounds of many replies intersect to milliseconds.
//! Pure: no clock is read here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::fmt::rfc2822::DateTimeParser;

const SECOND: i128 = 1_000_000_000;
/// Length of the one form of a `Date` that servers send today: `Tue, 15 Nov 1994 08:12:31 GMT`.
const DATE_BYTES: usize = 29;

/// A reply that says what time it is at the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dated {
    /// When the request was sent, by this machine's clock.
    pub sent: SystemTime,
    /// When its reply had arrived, by this machine's clock.
    pub received: SystemTime,
    /// The second that its `Date` names, since 1970.
    pub date_s: i64,
}

/// What a set of replies says of the offset, service less this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockOffset {
    /// No reply said what time it is.
    Unknown,
    /// It lies between these bounds, both in nanoseconds.
    Within {
        /// Smallest possible offset.
        low: i128,
        /// Largest possible offset.
        high: i128,
    },
    /// No one offset explains the replies: a clock was stepped meanwhile, or servers whose clocks differ have answered.
    Contradictory {
        /// By how much the bounds miss each other at least, nanoseconds.
        by: i128,
    },
}

impl ClockOffset {
    /// The middle of the bounds and the distance to either, milliseconds.
    pub fn middle_ms(self) -> Option<(f64, f64)> {
        match self {
            Self::Within { low, high } => Some(((low + high) as f64 / 2e6, (high - low) as f64 / 2e6)),
            Self::Unknown | Self::Contradictory { .. } => None,
        }
    }
}

/// Bounds of the offset, narrowed by every reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bracket {
    bounds: Option<(i128, i128)>,
    /// Replies that said what time it is.
    pub dated: u32,
}

impl Bracket {
    /// Takes a reply. The service wrote its `Date` at some instant between sending and receiving, somewhere in the second
    /// that it names.
    pub fn take(&mut self, reply: Dated) {
        let (sent, received, date) = (nanos(reply.sent), nanos(reply.received), i128::from(reply.date_s) * SECOND);
        // The reply came before its request when this machine's clock was set back meanwhile: these bounds cross as well.
        let (low, high) = (date - received, date + SECOND - sent);
        self.bounds = Some(self.bounds.map_or((low, high), |(l, h)| (l.max(low), h.min(high))));
        if received < sent {
            self.bounds = self.bounds.map(|(l, h)| (l, h.min(l - (sent - received))));
        }
        self.dated += 1;
    }

    /// What the replies say together.
    pub const fn offset(&self) -> ClockOffset {
        match self.bounds {
            None => ClockOffset::Unknown,
            Some((low, high)) if low <= high => ClockOffset::Within { low, high },
            Some((low, high)) => ClockOffset::Contradictory { by: low - high },
        }
    }

    /// How long to wait at `now` before sending a request whose reply halves the bounds: it should be answered, `one_way`
    /// after it was sent, when the service's second turns by the middle of the bounds. `None` without bounds.
    pub fn aim(&self, now: SystemTime, one_way: Duration) -> Option<Duration> {
        let ClockOffset::Within { low, high } = self.offset() else { return None };
        let answered = nanos(now) + one_way.as_nanos() as i128 + low.midpoint(high);
        Some(Duration::from_nanos((-answered).rem_euclid(SECOND) as u64))
    }
}

fn nanos(at: SystemTime) -> i128 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

/// The second that a `Date` header names. `None` for anything but the form that servers send.
pub fn parse_date(value: &str) -> Option<i64> {
    if value.len() != DATE_BYTES || !value.ends_with(" GMT") {
        return None;
    }
    DateTimeParser::new().parse_timestamp(value).ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request of a schedule: the pause before it, the way there and the way back, nanoseconds.
    type Exchange = (u64, u64, u64);

    fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
        prop::collection::vec((0..2_500_000_000u64, 0..900_000_000u64, 0..900_000_000u64), 1..60)
    }

    /// What a service answers whose clock is `offset` ahead, or behind.
    fn replies(start: u64, offset: i64, exchanges: &[Exchange]) -> Vec<Dated> {
        let mut now = i128::from(start);
        exchanges
            .iter()
            .map(|(pause, there, back)| {
                let sent = now + i128::from(*pause);
                let answered = sent + i128::from(*there);
                now = answered + i128::from(*back);
                let date_s = (answered + i128::from(offset)).div_euclid(SECOND) as i64;
                Dated { sent: at(sent), received: at(now), date_s }
            })
            .collect()
    }

    fn at(nanos: i128) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanos).expect("after 1970"))
    }

    const START: std::ops::Range<u64> = 1_700_000_000_000_000_000..1_900_000_000_000_000_000;
    /// A day either way.
    const OFFSET: std::ops::Range<i64> = -86_400_000_000_000..86_400_000_000_000;

    proptest! {
        #[test]
        fn the_true_offset_always_lies_within_the_bounds_and_more_replies_never_widen_them(
            start in START, offset in OFFSET, exchanges in exchanges(),
        ) {
            let mut bracket = Bracket::default();
            let mut width = i128::MAX;
            for reply in replies(start, offset, &exchanges) {
                bracket.take(reply);
                let ClockOffset::Within { low, high } = bracket.offset() else { panic!("{:?}", bracket.offset()) };
                prop_assert!(low <= i128::from(offset) && i128::from(offset) <= high);
                prop_assert!(high - low <= width);
                width = high - low;
            }
        }

        #[test]
        fn aimed_requests_narrow_the_bounds_to_the_round_trip(
            start in START, offset in OFFSET, one_way in 0..100_000_000u64,
        ) {
            let mut bracket = Bracket::default();
            let mut now = i128::from(start);
            for _ in 0..60 {
                let wait = bracket.aim(at(now), Duration::from_nanos(one_way)).map_or(0, |wait| wait.as_nanos() as i128);
                let sent = now + wait;
                now = sent + 2 * i128::from(one_way);
                let date_s = (sent + i128::from(one_way) + i128::from(offset)).div_euclid(SECOND) as i64;
                bracket.take(Dated { sent: at(sent), received: at(now), date_s });
            }
            let (middle, either_way) = bracket.offset().middle_ms().expect("bounds");
            prop_assert!(either_way <= one_way as f64 / 1e6 + 0.01, "{either_way} ms of {} ms", one_way as f64 / 1e6);
            prop_assert!((middle - offset as f64 / 1e6).abs() <= either_way + 1e-6);
        }

        #[test]
        fn a_clock_that_was_stepped_by_more_than_the_bounds_is_said_and_not_guessed(
            start in START, offset in OFFSET, step in 3_000_000_000..90_000_000_000i64, back in any::<bool>(), exchanges in exchanges(),
        ) {
            let mut bracket = Bracket::default();
            let stepped = offset + if back { -step } else { step };
            let before = replies(start, offset, &exchanges);
            let after = replies(start + 200_000_000_000, stepped, &exchanges);
            for reply in before.into_iter().chain(after) {
                bracket.take(reply);
            }
            prop_assert!(matches!(bracket.offset(), ClockOffset::Contradictory { by } if by > 0), "{:?}", bracket.offset());
            prop_assert_eq!(bracket.offset().middle_ms(), None);
            prop_assert_eq!(bracket.aim(at(i128::from(start)), Duration::ZERO), None);
        }
    }

    #[test]
    fn a_clock_of_this_machine_that_was_set_back_between_request_and_reply_is_a_contradiction() {
        let mut bracket = Bracket::default();
        bracket.take(Dated { sent: at(10_100_000_000), received: at(10_000_000_000), date_s: 10 });
        assert!(matches!(bracket.offset(), ClockOffset::Contradictory { by: 100_000_000 }), "{:?}", bracket.offset());
    }

    #[test]
    fn a_date_is_read_in_the_form_that_servers_send_and_in_no_other() {
        assert_eq!(parse_date("Tue, 15 Nov 1994 08:12:31 GMT"), Some(784_887_151));
        assert_eq!(parse_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for odd in [
            "",
            "soon",
            "Tue, 15 Nov 1994 08:12:31 UTC",
            "Tue, 15 Nov 1994 08:12 GMT",
            "Tue, 99 Nov 1994 08:12:31 GMT",
            "1994-11-15T08:12:31Z",
        ] {
            assert_eq!(parse_date(odd), None, "{odd}");
        }
    }

    #[test]
    fn without_a_dated_reply_nothing_is_claimed() {
        assert_eq!(Bracket::default().offset(), ClockOffset::Unknown);
        assert_eq!(Bracket::default().aim(UNIX_EPOCH, Duration::ZERO), None);
    }
}
