//! `connect`: asks the person to visit a page, and serves the page itself.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, State};
use axum::response::Html;
use axum::{Router, routing::get};
use mrtr::prelude::*;

/// The pages that the user visited. Clones share them.
#[derive(Clone)]
pub(crate) struct Visits {
    /// The address of the page.
    site: String,
    made: Arc<Mutex<HashSet<String>>>,
}

impl Visits {
    pub(crate) fn at(site: String) -> Self {
        Self { site, made: Arc::default() }
    }

    /// Serves the page. A visit counts when its button is pressed: a program that merely looks at links presses none.
    pub(crate) fn page(self) -> Router {
        let page = get(async || Html(PAGE)).post(async |State(visits): State<Self>, Path(id): Path<String>| {
            let mut made = visits.lock();
            // The ids of requested visits cannot be guessed; other ids are not kept for long.
            if made.len() >= MOST_VISITS {
                made.clear();
            }
            made.insert(id);
            Html(DONE)
        });
        Router::new().route("/connect/{id}", page).with_state(self)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn connect(flow: Flow) -> Result<String> {
    let visits = flow.state::<Visits>();
    let id = flow.interaction_id("connect");
    let url = format!("{}/connect/{id}", visits.site);
    // An accept is consent to visit the page; the server sees for itself whether the person did.
    let done = async || visits.lock().contains(&id);
    flow.elicit_url("connect", "Please connect your account on this page.", url).until(done).await?;
    Ok("Your account is connected.".to_owned())
}

const MOST_VISITS: usize = 10_000;

const PAGE: &str = r#"<!doctype html><title>mrtr demo</title><h1>Connect your account?</h1>
<form method="post"><button>Connect</button></form>"#;

const DONE: &str = "<!doctype html><title>mrtr demo</title><h1>Connected</h1><p>You may go back to the terminal.";
