//! `replay`: the screen over a recorded session.

use std::io::IsTerminal as _;
use std::sync::mpsc;
use std::thread;

use super::Refusal;
use super::args::ReplayArgs;
use super::run::{SCREEN_GRACE, give_up, heed_signals};
use crate::load::{Offset, Rate};
use crate::plan::show_span;
use crate::report::StopReason;
use crate::report::replay::Player;
use crate::session::remote;
use crate::session::replay::{Playhead, play};
use crate::tui;

pub(super) fn replay(args: &ReplayArgs) -> Result<u8, Refusal> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let file = args.file.display();
    if dumb || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Refusal::usage(format!("a replay needs a terminal; use throttlescope report {file} without one")));
    }
    let player = Player::open(&args.file).map_err(Refusal::usage)?;
    let (ends, from) = (player.ends(), Offset::ZERO.plus(args.from));
    if from > ends {
        return Err(Refusal::usage(format!("{file} ends at {}; type a --from before that", show_span(ends.since(Offset::ZERO)))));
    }
    let head = Playhead::new(player.kept(), ends, from, args.speed);
    let (remote, desk) = remote();
    heed_signals(remote.clone())?;
    let (screen_left, left) = mpsc::channel::<()>();
    let playing = thread::Builder::new()
        .name("replay".to_owned())
        .spawn(move || {
            let ended = play(player, head, desk);
            // A screen whose terminal is gone may never be left; nothing is left to wait for.
            if left.recv_timeout(SCREEN_GRACE).is_err_and(|e| e == mpsc::RecvTimeoutError::Timeout) {
                give_up(ended.as_ref().map_or(1, code));
            }
            ended
        })
        .map_err(|e| Refusal::failed(format!("cannot start a thread: {e}")))?;
    let options = tui::Options { step: Rate::per_second(500), glyphs: args.look.glyphs.into(), theme: args.look.theme.into() };
    let shown = tui::run(remote.clone(), &options);
    remote.send(remote::Command::Stop(StopReason::Quit));
    drop(screen_left);
    let reason = playing.join().map_err(|_| Refusal::failed("the replay failed; see the log"))?.map_err(Refusal::failed)?;
    match reason {
        StopReason::Signal(_) => Ok(code(&reason)),
        _ => shown.map(|_| 0).map_err(|e| Refusal::failed(e.to_string())),
    }
}

fn code(reason: &StopReason) -> u8 {
    match reason {
        StopReason::Signal(name) if name == "TERM" => 143,
        StopReason::Signal(name) if name == "HUP" => 129,
        StopReason::Signal(_) => 130,
        _ => 0,
    }
}
