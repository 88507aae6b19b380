//! Input: terminal events in, deliberate key presses out. Releases are dropped, held keys are slowed down, and what no
//! hand can type, a paste with or without bracketing, does nothing.

use std::time::Duration;

use crossterm::event::{Event, KeyEventKind};

use super::keymap::Chord;

/// What the terminal said, once it has been made sense of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key press.
    Key {
        /// Which key.
        chord: Chord,
        /// Whether it follows itself so soon that it is being held.
        held: bool,
    },
    /// A paste was swallowed.
    Paste,
    /// So many keys came at once that no hand typed them; they were dropped.
    Storm(usize),
    /// The terminal's size changed.
    Resize,
}

/// The same key within this time of itself is being held: longer than a keyboard's repeat interval, shorter than a
/// second deliberate press.
const HELD_WITHIN: Duration = Duration::from_millis(100);
/// More keys than this in one reading, of at least [`STORM_KINDS`] kinds, were not typed.
const STORM_KEYS: usize = 8;
const STORM_KINDS: usize = 3;
/// After a storm, keys count again once none came for this long: the rest of a paste may come in further readings.
const STORM_QUIET: Duration = Duration::from_millis(150);
/// Presses that may come at once, and how many more each second.
const AT_ONCE: f64 = 10.0;
const PER_SECOND: f64 = 20.0;

/// Decides which events are deliberate. `at` is any monotonic time.
#[derive(Debug)]
pub struct Filter {
    allowed: f64,
    counted_at: Duration,
    storm_at: Option<Duration>,
    last: Option<(Chord, Duration)>,
}

impl Default for Filter {
    fn default() -> Self {
        Self { allowed: AT_ONCE, counted_at: Duration::ZERO, storm_at: None, last: None }
    }
}

impl Filter {
    /// Takes all events of one reading.
    pub fn take(&mut self, events: &[Event], at: Duration) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut presses: Vec<(Chord, bool)> = Vec::new();
        for event in events {
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    presses.extend(Chord::from_event(*key).map(|chord| (chord, key.kind == KeyEventKind::Repeat)));
                }
                Event::Paste(_) => inputs.push(Input::Paste),
                Event::Resize(..) => inputs.push(Input::Resize),
                _ => {}
            }
        }
        if presses.is_empty() {
            return inputs;
        }
        let goes_on = self.storm_at.is_some_and(|storm| at.saturating_sub(storm) < STORM_QUIET);
        if goes_on || is_storm(&presses) {
            self.storm_at = Some(at);
            self.last = presses.last().map(|(chord, _)| (*chord, at));
            if !goes_on {
                inputs.push(Input::Storm(presses.len()));
            }
            return inputs;
        }
        self.storm_at = None;
        self.allowed = (self.allowed + at.saturating_sub(self.counted_at).as_secs_f64() * PER_SECOND).min(AT_ONCE);
        self.counted_at = at;
        for (chord, repeated) in presses {
            let follows = self.last.is_some_and(|(last, then)| last == chord && at.saturating_sub(then) < HELD_WITHIN);
            self.last = Some((chord, at));
            if self.allowed >= 1.0 {
                self.allowed -= 1.0;
                inputs.push(Input::Key { chord, held: repeated || follows });
            }
        }
        inputs
    }
}

fn is_storm(presses: &[(Chord, bool)]) -> bool {
    if presses.len() <= STORM_KEYS {
        return false;
    }
    let mut kinds: Vec<Chord> = Vec::new();
    for (chord, _) in presses {
        if !kinds.contains(chord) {
            kinds.push(*chord);
        }
    }
    kinds.len() >= STORM_KINDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn press(c: char) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
    }

    fn kind(c: char, kind: KeyEventKind) -> Event {
        Event::Key(KeyEvent::new_with_kind(KeyCode::Char(c), KeyModifiers::NONE, kind))
    }

    fn keys(inputs: &[Input]) -> usize {
        inputs.iter().filter(|input| matches!(input, Input::Key { .. })).count()
    }

    #[test]
    fn one_press_is_one_key_although_its_release_comes_too() {
        let mut filter = Filter::default();
        let events = [kind('k', KeyEventKind::Press), kind('k', KeyEventKind::Release)];
        assert_eq!(keys(&filter.take(&events, Duration::ZERO)), 1);
    }

    #[test]
    fn five_presses_in_a_row_all_count() {
        let events: Vec<Event> = std::iter::repeat_n(press('k'), 5).collect();
        assert_eq!(keys(&Filter::default().take(&events, Duration::ZERO)), 5);
    }

    #[test]
    fn two_hundred_presses_in_a_tenth_of_a_second_are_bounded() {
        let mut filter = Filter::default();
        let taken: usize = (0..100).map(|ms| keys(&filter.take(&[press('k'), press('k')], Duration::from_millis(ms)))).sum();
        assert!((10..=13).contains(&taken), "{taken}");
        let all: Vec<Event> = std::iter::repeat_n(press('k'), 200).collect();
        assert_eq!(keys(&Filter::default().take(&all, Duration::ZERO)), 10);
    }

    #[test]
    fn a_paste_fires_nothing_bracketed_or_not() {
        let mut filter = Filter::default();
        assert_eq!(filter.take(&[Event::Paste("qy\nr9999\n".into())], Duration::ZERO), [Input::Paste]);
        let storm: Vec<Event> = "rm -rf q y r 9999".chars().map(press).collect();
        assert_eq!(filter.take(&storm, Duration::from_millis(10)), [Input::Storm(17)]);
        assert_eq!(filter.take(&[press('q')], Duration::from_millis(60)), []);
        assert_eq!(filter.take(&[press('y')], Duration::from_millis(150)), []);
        assert_eq!(keys(&filter.take(&[press('k')], Duration::from_millis(400))), 1);
    }

    #[test]
    fn a_key_that_follows_itself_at_once_is_held() {
        let mut filter = Filter::default();
        let held: Vec<bool> = [0, 500, 533, 566, 900]
            .into_iter()
            .flat_map(|ms| filter.take(&[press('q')], Duration::from_millis(ms)))
            .map(|input| matches!(input, Input::Key { held: true, .. }))
            .collect();
        assert_eq!(held, [false, false, true, true, false]);
        assert!(matches!(filter.take(&[kind('x', KeyEventKind::Repeat)], Duration::from_secs(9))[..], [Input::Key { held: true, .. }]));
    }

    #[test]
    fn a_rate_typed_by_a_script_is_taken() {
        let mut events: Vec<Event> = "r2500".chars().map(press).collect();
        events.push(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
        assert_eq!(keys(&Filter::default().take(&events, Duration::ZERO)), 6);
    }
}
