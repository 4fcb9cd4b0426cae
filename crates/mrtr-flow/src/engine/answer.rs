//! Whether an answer is one to what was asked, as far as the request tells.

use mrtr_schema::elicitation::{ElicitAction, ElicitParams, ElicitResult};
use mrtr_schema::roots::ListRootsResult;
use mrtr_schema::sampling::CreateMessageResult;
use mrtr_schema::{InputRequest, JsonObject, Revision, Wire};
use serde_json::value::RawValue;

/// Whether an answer is of the kind that was asked for and fits its form, or the reason why not. What a handler thinks
/// of it is for the next run to say.
///
/// ```
/// use mrtr_schema::roots::ListRootsRequest;
/// use mrtr_schema::{InputRequest, Revision};
/// use mrtr_flow::check_answer;
/// use serde_json::value::RawValue;
///
/// let asked = InputRequest::from(ListRootsRequest::new());
/// let check = |answer: &str| {
///     let answer = RawValue::from_string(answer.to_owned()).expect("it is JSON");
///     check_answer(&asked, &answer, Revision::Published)
/// };
/// assert_eq!(check(r#"{"roots": []}"#), Ok(()));
/// assert!(check(r#"{"action": "accept"}"#).is_err_and(|reason| reason.contains("roots")));
/// ```
pub fn check_answer(request: &InputRequest, answer: &RawValue, revision: Revision) -> Result<(), String> {
    let dialect = revision.lenient();
    let read = match request {
        InputRequest::Elicit(request) => {
            let result = ElicitResult::read(answer, dialect).map_err(|error| error.to_string())?;
            return match (&request.params, result.action) {
                (ElicitParams::Form(form), ElicitAction::Accept) => {
                    let content = result.content.ok_or("the form was not filled in")?;
                    let fits = form.requested_schema.check(content.as_object());
                    fits.map_err(|violations| violations.to_string())
                }
                _ => Ok(()),
            };
        }
        InputRequest::Sample(_) => CreateMessageResult::read(answer, dialect).map(drop),
        InputRequest::Roots(_) => ListRootsResult::read(answer, dialect).map(drop),
        _ => JsonObject::from_raw(answer).map(drop),
    };
    read.map_err(|error| error.to_string())
}
