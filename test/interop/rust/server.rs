//! Where the server is that the tests talk to, and what several of them need.
//!
//! `npm run test:interop` puts the connection string of its https server into the environment. The
//! clients take bearer tokens and signatures, and no account keys.

use std::collections::HashMap;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use azure_core::Result;
use azure_core::credentials::{AccessToken, Secret, TokenCredential, TokenRequestOptions};
use azure_core::http::{StatusCode, Url};
use azure_storage_queue::models::{QueueMessage, ReceivedMessage};
use azure_storage_queue::{QueueClient, QueueServiceClient};
use time::{Duration, OffsetDateTime};

/// What the credentials of the identity library are to a client.
#[derive(Debug)]
struct Bearer;

#[async_trait::async_trait]
impl TokenCredential for Bearer {
    async fn get_token(
        &self,
        _scopes: &[&str],
        _options: Option<TokenRequestOptions<'_>>,
    ) -> Result<AccessToken> {
        let token = Secret::from(variable("TABULARIUM_TOKEN"));
        Ok(AccessToken::new(
            token,
            OffsetDateTime::now_utc() + Duration::hours(1),
        ))
    }
}

fn variable(name: &str) -> String {
    env::var(name).expect("run these tests with: npm run test:interop rust")
}

fn setting(name: &str) -> String {
    let text = variable("TABULARIUM_TLS_CONNECTION_STRING");
    let settings: HashMap<_, _> = text
        .split(';')
        .filter_map(|part| part.split_once('='))
        .collect();
    settings[name].to_string()
}

pub fn account() -> String {
    setting("AccountName")
}

pub fn queues() -> QueueServiceClient {
    let endpoint = Url::parse(&setting("QueueEndpoint")).expect("an endpoint is a URL");
    QueueServiceClient::new(endpoint, Some(Arc::new(Bearer)), None).expect("a client")
}

/// A name of a queue that no other test uses.
pub fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nanos = OffsetDateTime::now_utc().unix_timestamp_nanos();
    format!("rust-{nanos}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

pub async fn fresh_queue() -> (String, QueueClient) {
    let name = fresh_name();
    let queue = queues().queue_client(&name).expect("a client");
    queue.create(None).await.expect("the queue is created");
    (name, queue)
}

pub async fn send(queue: &QueueClient, text: &str) -> Result<()> {
    let message = QueueMessage {
        message_text: Some(text.to_string()),
    };
    queue
        .send_message(message.try_into()?, None)
        .await
        .map(|_| ())
}

/// The next message that is visible.
pub async fn receive(queue: &QueueClient) -> Result<Option<ReceivedMessage>> {
    let received = queue.receive_messages(None).await?.into_model()?;
    Ok(received.items.unwrap_or_default().into_iter().next())
}

/// Expects a status and a code of the service.
pub fn assert_refused<T>(result: Result<T>, status: StatusCode, code: &str) {
    let error = result.err().expect("the service refuses this");
    assert_eq!(error.http_status(), Some(status), "{error}");
    assert!(
        format!("{error:?}").contains(code),
        "{code} is not in {error:?}"
    );
}
