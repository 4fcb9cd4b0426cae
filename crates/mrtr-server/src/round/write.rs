//! Results as text, with the server's name in their metadata.

use indexmap::IndexMap;
use mrtr_flow::for_server::internal_error;
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::{
    ErrorObject, Feature, InRevision, InputRequests, InputRequiredResult, Json, RawMembers, RequestState, Revision,
    Wire,
};

use crate::definition::flow_output::FlowOutput;
use crate::definition::parts::ResultWriter;

impl ResultWriter {
    /// Writes a result without metadata of its own, and puts the server's name into its metadata.
    pub(crate) fn write<T: Wire>(&self, result: &T, revision: Revision) -> Result<String, ErrorObject> {
        written(result, revision).map(|text| self.sign(text, revision))
    }

    /// Writes a reply that asks, carries, or both; `None` if it would do neither.
    pub(crate) fn write_interim(
        &self,
        requests: InputRequests,
        state: Option<RequestState>,
        revision: Revision,
    ) -> Option<Result<String, ErrorObject>> {
        // A sealed state is long, and nothing in it needs an escape, so it goes in as text.
        let (as_text, as_value) = if requests.is_empty() { (None, state) } else { (state, None) };
        let interim = InputRequiredResult::from_parts(requests, as_value)?;
        let written = written(&interim, revision).map(|mut text| {
            if let Some(state) = as_text
                && text.pop() == Some('}')
            {
                let state = state.untrusted_text();
                debug_assert!(state.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\'));
                text.reserve(state.len() + self.signature.len() + ROOM);
                text.push_str(",\"requestState\":\"");
                text.push_str(state);
                text.push_str("\"}");
            }
            self.sign(text, revision)
        });
        Some(written)
    }

    /// Writes a result that a handler may have given metadata, and puts the server's name into that.
    pub(crate) fn write_output<R: FlowOutput>(&self, mut result: R, revision: Revision) -> Result<String, ErrorObject> {
        let Some(meta) = result.meta() else { return self.write(&result, revision) };
        if revision.has(Feature::ServerInfoInResults) {
            meta.server_info.get_or_insert_with(|| self.info.clone());
        }
        written(&result, revision)
    }

    /// Takes over a result that an extension wrote. It is JSON already; this only tells its members apart.
    pub(crate) fn adopt(&self, result: &Json, revision: Revision) -> Result<String, ErrorObject> {
        if !revision.has(Feature::ServerInfoInResults) {
            return Ok(result.as_str().to_owned());
        }
        let members = RawMembers::of(result.as_raw()).map_err(|_| internal_error())?;
        let Some(meta) = members.get("_meta") else { return Ok(self.sign(result.as_str().to_owned(), revision)) };
        let meta = ResultMeta::read(meta, revision.lenient()).unwrap_or_default();
        self.with_meta(&members, meta)
    }

    /// The members of a result, with this metadata in the place of theirs, and the server's name in it.
    fn with_meta(&self, members: &RawMembers<'_>, mut meta: ResultMeta) -> Result<String, ErrorObject> {
        let unreadable = |_| internal_error();
        meta.server_info.get_or_insert_with(|| self.info.clone());
        let meta = serde_json::value::to_raw_value(&meta).map_err(unreadable)?;
        let own = |key| if key == "_meta" { Some(&*meta) } else { None };
        let result: IndexMap<_, _> = members.iter().map(|(key, value)| (key, own(key).unwrap_or(value))).collect();
        serde_json::to_string(&result).map_err(unreadable)
    }

    /// Adds the server's name to a result that has no metadata: at its end, as text.
    fn sign(&self, mut written: String, revision: Revision) -> String {
        if revision.has(Feature::ServerInfoInResults) && written.pop() == Some('}') {
            if !written.ends_with('{') {
                written.push(',');
            }
            written.push_str(&self.signature);
            written.push('}');
        }
        written
    }
}

/// More than is put around a result, besides a state and a signature.
const ROOM: usize = 128;

fn written<T: Wire>(result: &T, revision: Revision) -> Result<String, ErrorObject> {
    let mut text = Vec::with_capacity(USUAL);
    match serde_json::to_writer(&mut text, &InRevision::new(result, revision)) {
        Ok(()) => Ok(String::from_utf8(text).expect("JSON is text")),
        Err(error) => {
            tracing::error!(%error, "a result cannot be written in this revision");
            Err(internal_error())
        }
    }
}

/// The length that most messages keep below, a state aside: then the text around a result needs no other buffer.
const USUAL: usize = 512;

#[cfg(test)]
mod tests {
    use mrtr_schema::elicitation::{ElicitFormParams, ElicitRequest};
    use mrtr_schema::{Form, Implementation};

    use super::*;

    #[test]
    fn a_state_that_is_put_in_as_text_stands_where_the_type_would_write_it() {
        let results = ResultWriter::new(Implementation::new("tracker", "1.0.0"));
        let form = Form::parse(r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#).expect("a form");
        let mut requests = InputRequests::default();
        requests.insert("who", ElicitRequest::new(ElicitFormParams::ask("Who \"are\" you?", form)));
        let state = RequestState::new("mrtr1r.2026-11.AZaz09-_");
        for revision in [Revision::Draft202602, Revision::Sep2322, Revision::V2026_07_28] {
            for asked in [&requests, &InputRequests::default()] {
                let typed = InputRequiredResult::from_parts(asked.clone(), Some(state.clone())).expect("it carries");
                let typed = results.sign(typed.to_json(revision).expect("it can be written"), revision);
                let spliced = results.write_interim(asked.clone(), Some(state.clone()), revision).expect("it carries");
                assert_eq!(spliced.expect("it can be written"), typed, "{revision}");
            }
        }
        assert!(results.write_interim(InputRequests::default(), None, Revision::V2026_07_28).is_none());
    }
}
