//! The keymap: one table from which keys are looked up, the footer and the help are drawn, and the README is written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::view::View;
use crate::session::remote::Play;

/// A key with or without Ctrl. Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The key.
    pub code: KeyCode,
    /// Whether Ctrl is held.
    pub ctrl: bool,
}

impl Chord {
    const fn key(code: KeyCode) -> Self {
        Self { code, ctrl: false }
    }

    const fn of(c: char) -> Self {
        Self::key(KeyCode::Char(c))
    }

    const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), ctrl: true }
    }

    /// The chord of a key event; `None` for a key with a modifier that no binding uses.
    pub fn from_event(event: KeyEvent) -> Option<Self> {
        let other = KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META;
        if event.modifiers.intersects(other) {
            return None;
        }
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            KeyCode::Char(c) if ctrl => KeyCode::Char(c.to_ascii_lowercase()),
            code => code,
        };
        Some(Self { code, ctrl })
    }
}

/// What a key asks of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Offer one step more.
    RateUp,
    /// Offer one step less.
    RateDown,
    /// Offer twice as much.
    RateDouble,
    /// Offer half as much.
    RateHalve,
    /// Ask for an exact rate.
    RatePrompt,
    /// Pause the load or resume it.
    PauseResume,
    /// Choose a plan.
    PlanPicker,
    /// Write the session document as it stands.
    Dump,
    /// Show this view.
    Show(View),
    /// Show the next view.
    NextView,
    /// Show the previous view.
    PreviousView,
    /// Let charts show less time.
    SpanShorter,
    /// Let charts show more time.
    SpanLonger,
    /// Freeze the display or let it go on.
    Freeze,
    /// Scroll the list of a view or overlay back.
    ScrollBack,
    /// Scroll it on.
    ScrollOn,
    /// Show all keys.
    Help,
    /// Paint everything again.
    Repaint,
    /// Pause the load and go to the shell.
    Suspend,
    /// Leave, asking first where something would be lost.
    Quit,
    /// Ctrl-C: ask, then stop, then abandon.
    Interrupt,
    /// Close the overlay.
    Close,
    /// Confirm.
    Yes,
    /// Take what was typed or chosen.
    Submit,
    /// Choose the row above.
    RowUp,
    /// Choose the row below.
    RowDown,
    /// Remove the last character.
    Erase,
    /// A typed character.
    Type(char),
    /// Steer a replay.
    Play(Play),
}

impl Action {
    /// Whether a held key may do it again and again.
    pub const fn repeats(self) -> bool {
        matches!(
            self,
            Self::RateUp
                | Self::RateDown
                | Self::NextView
                | Self::PreviousView
                | Self::ScrollBack
                | Self::ScrollOn
                | Self::RowUp
                | Self::RowDown
                | Self::Erase
                | Self::Type(_)
                | Self::Play(Play::Skip(_))
        )
    }
}

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere.
    Always,
    /// With no overlay open.
    Screen,
    /// The same while a recorded session is played; what is not bound here is as on the screen.
    Replay,
    /// In a question.
    Question,
    /// In the prompt for a rate.
    Prompt,
    /// In the list of plans.
    Plans,
    /// In the help.
    Help,
}

/// Headings of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// What steers the load.
    Load,
    /// What changes only what is shown.
    Display,
    /// What concerns the session.
    Session,
    /// What steers a replay.
    Replay,
    /// What holds in overlays.
    Overlays,
}

impl Group {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 5] = [Self::Load, Self::Display, Self::Session, Self::Replay, Self::Overlays];

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Load => "Load",
            Self::Display => "Display",
            Self::Session => "Session",
            Self::Replay => "Replay",
            Self::Overlays => "Overlays",
        }
    }
}

/// One row of the keymap.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// Its keys.
    pub chords: &'static [Chord],
    /// Its keys as text.
    pub keys: &'static str,
    /// What it does.
    pub action: Action,
    /// Its heading in the help.
    pub group: Group,
    /// What it does, in words.
    pub help: &'static str,
    /// Its place in the footer, lower is kept longer, and its text there.
    pub footer: Option<(u8, &'static str)>,
}

const fn bind(
    context: Context,
    chords: &'static [Chord],
    keys: &'static str,
    action: Action,
    group: Group,
    help: &'static str,
    footer: Option<(u8, &'static str)>,
) -> Binding {
    Binding { context, chords, keys, action, group, help, footer }
}

use Context::{Always, Plans, Prompt, Question, Replay, Screen};

/// The keymap.
pub const KEYMAP: &[Binding] = &[
    bind(
        Screen,
        &[Chord::key(KeyCode::Up), Chord::of('k'), Chord::of('+'), Chord::of('=')],
        "up k +",
        Action::RateUp,
        Group::Load,
        "offer one --step more",
        Some((3, "up/dn rate")),
    ),
    bind(
        Screen,
        &[Chord::key(KeyCode::Down), Chord::of('j'), Chord::of('-')],
        "down j -",
        Action::RateDown,
        Group::Load,
        "offer one --step less",
        None,
    ),
    bind(Screen, &[Chord::key(KeyCode::PageUp)], "PgUp", Action::RateDouble, Group::Load, "double the offered rate", None),
    bind(Screen, &[Chord::key(KeyCode::PageDown)], "PgDn", Action::RateHalve, Group::Load, "halve the offered rate", None),
    bind(Screen, &[Chord::of('r')], "r", Action::RatePrompt, Group::Load, "type an exact rate", Some((7, "r exact"))),
    bind(Screen, &[Chord::of(' ')], "space", Action::PauseResume, Group::Load, "pause the load, resume it", Some((4, "space pause"))),
    bind(Screen, &[Chord::of('p')], "p", Action::PlanPicker, Group::Load, "choose a plan and run it", Some((5, "p plan"))),
    bind(Screen, &[Chord::key(KeyCode::Tab)], "Tab", Action::NextView, Group::Display, "next view", Some((2, "Tab view"))),
    bind(Screen, &[Chord::key(KeyCode::BackTab)], "Shift-Tab", Action::PreviousView, Group::Display, "previous view", None),
    bind(Screen, &[Chord::of('1')], "1", Action::Show(View::Overview), Group::Display, "overview", None),
    bind(Screen, &[Chord::of('2')], "2", Action::Show(View::Latency), Group::Display, "latency", None),
    bind(Screen, &[Chord::of('3')], "3", Action::Show(View::Windows), Group::Display, "windows and plan", None),
    bind(Screen, &[Chord::of('4')], "4", Action::Show(View::Throttles), Group::Display, "throttles and failures", None),
    bind(Screen, &[Chord::of('5')], "5", Action::Show(View::Target), Group::Display, "target and guards", None),
    bind(Screen, &[Chord::of('6')], "6", Action::Show(View::Events), Group::Display, "events", None),
    bind(Screen, &[Chord::of('[')], "[", Action::SpanShorter, Group::Display, "charts show less time", Some((9, "[ ] span"))),
    bind(Screen, &[Chord::of(']')], "]", Action::SpanLonger, Group::Display, "charts show more time", None),
    bind(Screen, &[Chord::of('f')], "f", Action::Freeze, Group::Display, "freeze the display, the load goes on", Some((8, "f freeze"))),
    bind(Screen, &[Chord::key(KeyCode::Left), Chord::of('h')], "left h", Action::ScrollBack, Group::Display, "scroll back", None),
    bind(Screen, &[Chord::key(KeyCode::Right), Chord::of('l')], "right l", Action::ScrollOn, Group::Display, "scroll on", None),
    bind(Screen, &[Chord::of('s')], "s", Action::Dump, Group::Session, "write a snapshot of the session document", Some((6, "s snapshot"))),
    bind(Screen, &[Chord::of('?')], "?", Action::Help, Group::Session, "show all keys", Some((1, "? help"))),
    bind(Screen, &[Chord::of('q')], "q", Action::Quit, Group::Session, "stop, delete the table, leave; asks first", Some((0, "q quit"))),
    bind(
        Replay,
        &[Chord::of(' ')],
        "space",
        Action::Play(Play::PauseResume),
        Group::Replay,
        "pause, go on, at the end start again",
        Some((3, "space pause")),
    ),
    bind(
        Replay,
        &[Chord::key(KeyCode::Left)],
        "left",
        Action::Play(Play::Skip(-10)),
        Group::Replay,
        "10 s back",
        Some((4, "left/right seek")),
    ),
    bind(Replay, &[Chord::key(KeyCode::Right)], "right", Action::Play(Play::Skip(10)), Group::Replay, "10 s on", None),
    bind(Replay, &[Chord::key(KeyCode::PageUp)], "PgUp", Action::Play(Play::Skip(-60)), Group::Replay, "a minute back", None),
    bind(Replay, &[Chord::key(KeyCode::PageDown)], "PgDn", Action::Play(Play::Skip(60)), Group::Replay, "a minute on", None),
    bind(Replay, &[Chord::key(KeyCode::Home)], "Home", Action::Play(Play::ToStart), Group::Replay, "to the start", None),
    bind(Replay, &[Chord::key(KeyCode::End)], "End", Action::Play(Play::ToEnd), Group::Replay, "to the end", None),
    bind(
        Replay,
        &[Chord::of('<'), Chord::of('-')],
        "< -",
        Action::Play(Play::Slower),
        Group::Replay,
        "half as fast",
        Some((5, "< > speed")),
    ),
    bind(
        Replay,
        &[Chord::of('>'), Chord::of('+'), Chord::of('=')],
        "> +",
        Action::Play(Play::Faster),
        Group::Replay,
        "twice as fast, up to 64x",
        None,
    ),
    bind(Replay, &[Chord::of('q')], "q", Action::Quit, Group::Replay, "leave at once", Some((0, "q quit"))),
    bind(Always, &[Chord::ctrl('c')], "Ctrl-C", Action::Interrupt, Group::Session, "ask, then stop, then abandon the teardown", None),
    bind(Always, &[Chord::ctrl('l')], "Ctrl-L", Action::Repaint, Group::Session, "paint the screen again", None),
    bind(Always, &[Chord::ctrl('z')], "Ctrl-Z", Action::Suspend, Group::Session, "pause the load and go to the shell", None),
    bind(Always, &[Chord::key(KeyCode::Esc)], "Esc", Action::Close, Group::Overlays, "close the overlay; never quits", None),
    bind(Question, &[Chord::of('y')], "y", Action::Yes, Group::Overlays, "confirm", Some((0, "y yes"))),
    bind(Question, &[Chord::of('n')], "n", Action::Close, Group::Overlays, "do not", Some((1, "n Esc no"))),
    bind(
        Prompt,
        &[Chord::key(KeyCode::Enter)],
        "Enter",
        Action::Submit,
        Group::Overlays,
        "offer the typed rate",
        Some((0, "Enter offer it")),
    ),
    bind(
        Prompt,
        &[Chord::key(KeyCode::Backspace)],
        "Backspace",
        Action::Erase,
        Group::Overlays,
        "remove the last character",
        Some((1, "Esc keep the rate")),
    ),
    bind(
        Plans,
        &[Chord::key(KeyCode::Up), Chord::of('k')],
        "up k",
        Action::RowUp,
        Group::Overlays,
        "plan above",
        Some((2, "up/dn choose")),
    ),
    bind(Plans, &[Chord::key(KeyCode::Down), Chord::of('j')], "down j", Action::RowDown, Group::Overlays, "plan below", None),
    bind(Plans, &[Chord::key(KeyCode::Enter)], "Enter", Action::Submit, Group::Overlays, "run the chosen plan", Some((0, "Enter run it"))),
    bind(Plans, &[Chord::of('p')], "p", Action::Close, Group::Overlays, "close the plans", Some((1, "p Esc close"))),
    bind(
        Context::Help,
        &[Chord::key(KeyCode::Up), Chord::key(KeyCode::Left), Chord::of('k')],
        "up k",
        Action::ScrollBack,
        Group::Overlays,
        "scroll the help back",
        Some((2, "up/dn scroll")),
    ),
    bind(
        Context::Help,
        &[Chord::key(KeyCode::Down), Chord::key(KeyCode::Right), Chord::of('j')],
        "down j",
        Action::ScrollOn,
        Group::Overlays,
        "scroll the help on",
        None,
    ),
    bind(Context::Help, &[Chord::of('?')], "?", Action::Close, Group::Overlays, "close the help", Some((1, "? Esc close"))),
];

/// The action of a key where `context` holds.
pub fn lookup(context: Context, chord: Chord) -> Option<Action> {
    let of = |context| KEYMAP.iter().find(|b| b.context == context && b.chords.contains(&chord)).map(|b| b.action);
    let bound = of(context).or_else(|| of(Always));
    match (bound, context, chord) {
        (None, Prompt, Chord { code: KeyCode::Char(c), ctrl: false }) => Some(Action::Type(c)),
        (None, Replay, _) => of(Screen),
        _ => bound,
    }
}

/// The footer's hints where `context` holds: the binding, its place and its text.
pub fn footer(context: Context) -> impl Iterator<Item = (&'static Binding, u8, &'static str)> {
    // What only shows, and the help, are on the screen of a replay as on that of a session.
    let shared = move |b: &Binding| context == Replay && b.context == Screen && (b.group == Group::Display || b.action == Action::Help);
    KEYMAP.iter().filter(move |b| b.context == context || shared(b)).filter_map(|b| b.footer.map(|(place, hint)| (b, place, hint)))
}

/// The rows of one group of the help, without those that repeat in overlays.
pub fn group(group: Group) -> impl Iterator<Item = &'static Binding> {
    KEYMAP.iter().filter(move |b| b.group == group)
}

/// The keymap as a Markdown table for the README.
pub fn keys_markdown() -> String {
    let mut text = String::from("| keys | what they do |\n|---|---|\n");
    for binding in KEYMAP.iter().filter(|b| b.group != Group::Overlays || b.context == Always) {
        let place = if binding.context == Replay { "in a replay: " } else { "" };
        text.push_str(&format!("| `{}` | {place}{} |\n", binding.keys, binding.help));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXTS: [Context; 6] = [Screen, Replay, Question, Prompt, Plans, Context::Help];

    #[test]
    fn a_key_has_one_meaning_in_each_context() {
        for context in CONTEXTS {
            let mut seen = Vec::new();
            for binding in KEYMAP.iter().filter(|b| b.context == context || b.context == Always) {
                for chord in binding.chords {
                    assert!(!seen.contains(chord), "{context:?}: {chord:?} twice");
                    seen.push(*chord);
                    assert_eq!(lookup(context, *chord), Some(binding.action));
                }
            }
        }
    }

    #[test]
    fn every_hint_of_the_footer_names_a_key_that_works_there() {
        for context in CONTEXTS {
            let mut places: Vec<u8> = footer(context).map(|(_, place, _)| place).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), footer(context).count(), "{context:?}: two hints share a place");
        }
        for binding in KEYMAP.iter().filter(|b| b.context == Screen) {
            if let Some((_, hint)) = binding.footer {
                let key = hint.split([' ', '/']).next().unwrap_or_default();
                assert!(binding.keys.split(' ').any(|name| name == key), "{hint}: {}", binding.keys);
            }
        }
    }

    #[test]
    fn escape_closes_and_q_quits_nowhere_but_on_the_screen() {
        for context in CONTEXTS {
            assert_eq!(lookup(context, Chord::key(KeyCode::Esc)), Some(Action::Close));
            assert_eq!(lookup(context, Chord::of('q')) == Some(Action::Quit), matches!(context, Screen | Replay));
            assert_eq!(lookup(context, Chord::ctrl('c')), Some(Action::Interrupt));
        }
        assert!(KEYMAP.iter().filter(|b| b.action == Action::Yes).all(|b| b.context == Question));
    }

    #[test]
    fn the_readme_table_has_a_row_for_every_key_of_the_screen() {
        let text = keys_markdown();
        for binding in KEYMAP.iter().filter(|b| b.context == Screen || b.context == Always) {
            assert!(text.contains(&format!("| `{}` | {} |", binding.keys, binding.help)), "{}", binding.keys);
        }
    }

    #[test]
    fn a_replay_has_its_own_keys_and_else_those_that_only_show() {
        assert_eq!(lookup(Replay, Chord::key(KeyCode::Left)), Some(Action::Play(Play::Skip(-10))));
        assert_eq!(lookup(Replay, Chord::key(KeyCode::Tab)), Some(Action::NextView));
        assert_eq!(lookup(Replay, Chord::of('h')), Some(Action::ScrollBack));
        let hints: Vec<&str> = footer(Replay).map(|(.., hint)| hint).collect();
        assert!(hints.contains(&"? help") && hints.contains(&"left/right seek") && !hints.contains(&"up/dn rate"), "{hints:?}");
    }

    #[test]
    fn what_may_repeat_is_harmless() {
        for action in [Action::Quit, Action::Interrupt, Action::Yes, Action::Submit, Action::PauseResume, Action::RateDouble, Action::Dump]
        {
            assert!(!action.repeats(), "{action:?}");
        }
    }
}
