//! Why a promise breaks, for a person at a terminal.

use crate::picture::explained;
use crate::{Cause, why_of};
use picklock_engine::report::{Kind, Page, Story, Style, TextOptions, TimeColumn};
use picklock_model::time::Micros;

/// Why a promise breaks, a line for each step that it takes, and what else is broken; empty if nothing is.
pub fn why_text(story: &Story, options: TextOptions) -> String {
    let causes = why_of(story);
    let mut page = Page::new(options);
    match causes.len() {
        0 => {}
        // What breaks, and nothing that leads to it.
        1 => page.line([("how", Style::Strong)]),
        _ => page.line([("why", Style::Strong)]),
    }
    for Cause { position, kind, when, words } in &causes {
        let event = &story.events[*position];
        let step = format!("step {}", event.step);
        let when = match story.time {
            TimeColumn::Ticks { .. } => format!("{:<7}  ", story.time.show(Micros(event.at_us))),
            _ if *when == step => String::new(),
            _ => format!("{when:>10}  "),
        };
        let style = match kind {
            Kind::Fault | Kind::Gone => Style::Fault,
            Kind::Breaks => Style::Broken,
            Kind::Record | Kind::Milestone | Kind::Loop => Style::Plain,
        };
        page.labelled(&format!("  {step:<10}{when}"), words, style);
    }
    let explained = explained(story);
    let is_told = |broken: &str| {
        let words = broken.split_once(": ").map_or(broken, |(_, words)| words);
        explained.as_deref() == Some(broken)
            || causes.iter().any(|cause| cause.kind == Kind::Breaks && cause.words.ends_with(words))
    };
    let others: Vec<&String> = story.broken.iter().filter(|broken| !is_told(broken)).collect();
    if !others.is_empty() {
        if !causes.is_empty() {
            page.blank();
        }
        page.line([("broken as well", Style::Strong)]);
    }
    for other in others {
        page.labelled("  ", other, Style::Broken);
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    fn narrow() -> TextOptions {
        TextOptions { width: 100, ..TextOptions::default() }
    }

    #[test]
    fn the_chain_of_causes_ends_with_what_breaks_and_says_what_else_is_broken() {
        let told = |broken: &[&str]| {
            let broken: Vec<String> = broken.iter().map(|told| (*told).to_owned()).collect();
            let mut told = String::new();
            toy::story(toy::overlap, |story| told = why_text(&Story { broken: &broken, ..story }, narrow()));
            told
        };
        let alone = told(&["mutual-exclusion: B enters while A holds"]);
        let lines: Vec<&str> = alone.lines().collect();
        assert!(lines.len() > 2 && lines[0] == "why", "{alone}");
        assert!(
            lines[lines.len() - 1].starts_with("  step 12 ") && alone.ends_with("B enters while A holds\n")
        );
        let fifo = "fifo: B is granted before A, who was enqueued earlier";
        let both = told(&["mutual-exclusion: B enters while A holds", fifo]);
        assert_eq!(both, format!("{alone}\nbroken as well\n  {fifo}\n"));
    }

    #[test]
    fn a_run_that_breaks_nothing_has_nothing_to_explain() {
        toy::story(toy::patience, |story| assert_eq!(why_text(&story, narrow()), ""));
    }
}
