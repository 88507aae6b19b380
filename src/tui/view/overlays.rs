//! Questions and the prompt for a rate.

use ratatui::layout::Rect;

use super::text::{Canvas, Piece, clean, piece, wrap};
use crate::session::remote::Command;
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::overlay::{Prompt, Question};
use crate::tui::stopping::Stopping;
use crate::tui::theme::Role;

const WIDTH: u16 = 52;

/// Draws a question.
pub(super) fn question(canvas: &mut Canvas<'_>, area: Rect, app: &App, question: &Question) {
    let newest = &app.newest;
    let (title, text) = match question {
        Question::Quit => {
            let table = clean(&newest.target.table);
            let then = match (newest.target.created_by_session, newest.target.table.is_empty()) {
                (_, true) => "leave".to_owned(),
                (true, _) => format!("delete table {table}, write the session file and leave"),
                (false, _) => format!("leave table {table} as it is, write the session file and leave"),
            };
            ("stop?", format!("Stop the load, wait for the requests in flight, {then}?"))
        }
        Question::LeavePlan(command) => {
            let name = newest.plan.as_ref().map_or(String::new(), |plan| clean(&plan.name));
            let rate = if let Command::SetRate(rate) = command { format!(" at {rate}/s") } else { String::new() };
            ("end the plan?", format!("Steering by hand ends the plan {name}. End it and go on{rate}?"))
        }
    };
    let mut lines: Vec<Vec<Piece>> = wrap(&text, WIDTH).into_iter().map(|line| vec![piece(Role::Text, line)]).collect();
    lines.push(Vec::new());
    let mut keys = vec![piece(Role::Key, "y"), piece(Role::Quiet, " yes   "), piece(Role::Key, "n Esc"), piece(Role::Quiet, " no")];
    if app.stopping == Stopping::Asked {
        keys.extend([piece(Role::Key, "   Ctrl-C"), piece(Role::Quiet, " yes, as a signal")]);
    }
    lines.push(keys);
    let inside = canvas.panel(area, title, WIDTH, lines.len() as u16);
    canvas.lines(inside, &lines);
}

/// Draws the prompt for an exact rate.
pub(super) fn prompt(canvas: &mut Canvas<'_>, area: Rect, app: &App, prompt: &Prompt) {
    let now = app.steering.wanted().map_or_else(|| figures::NOTHING.to_owned(), |wish| figures::setpoint(wish.rate()));
    let mut lines = vec![
        vec![piece(Role::Quiet, format!("now {now}; type for example 2500 or 2.5k"))],
        Vec::new(),
        vec![piece(Role::Strong, format!("> {}", clean(&prompt.text))), piece(Role::Chosen, " ")],
        Vec::new(),
    ];
    lines.extend(wrap(&prompt.error, WIDTH).into_iter().map(|line| vec![piece(Role::Warning, line)]));
    let inside = canvas.panel(area, "offer an exact rate", WIDTH, lines.len() as u16);
    canvas.lines(inside, &lines);
}
