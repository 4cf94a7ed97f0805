//! The page's sections in reading order: answer first, raw figures last.

pub(super) mod answer;
pub(super) mod facts;
pub(super) mod latches;
pub(super) mod levels;
pub(super) mod noise;
pub(super) mod plan;
pub(super) mod strips;

use maud::{Markup, html};

/// One section with its heading; `id` is where links inside the page point to.
pub(super) fn section(id: &str, heading: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (heading) }
            (body)
        }
    }
}

/// Names and values side by side; an unknown value is printed as "unknown".
pub(super) fn fact_list(facts: &[(&str, String)]) -> Markup {
    html! {
        dl class="facts" {
            @for (name, value) in facts {
                div { dt { (name) } dd { (if value.is_empty() { "unknown" } else { value }) } }
            }
        }
    }
}
