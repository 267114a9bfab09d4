//! Queues, messages, policies and delegated signatures, as the Rust client asks for them.

use azure_core::Result;
use azure_core::http::{RequestContent, StatusCode, XmlFormat};
use azure_storage_common::models::UserDelegationKey;
use azure_storage_queue::QueueClient;
use azure_storage_queue::models::{
    AccessPolicy, KeyInfo, QueueClientUpdateMessageOptions, QueueMessage, SignedIdentifier,
    SignedIdentifiers,
};
use azure_storage_sas::SasBuilder;
use tabularium_interop::{account, assert_refused, fresh_name, fresh_queue, queues, receive, send};
use time::{Duration, OffsetDateTime};

async fn delegation_key() -> Result<UserDelegationKey> {
    let now = OffsetDateTime::now_utc();
    let info = KeyInfo {
        start: Some(now - Duration::minutes(1)),
        expiry: Some(now + Duration::hours(1)),
        ..Default::default()
    };
    let content: RequestContent<KeyInfo, XmlFormat> = info.try_into()?;
    queues()
        .get_user_delegation_key(content, None)
        .await?
        .into_model()
}

/// A client of the queue that knows a signature and no token.
fn guest(queue: &QueueClient, signature: &str) -> Result<QueueClient> {
    let mut url = queue.url().clone();
    url.set_query(Some(signature));
    QueueClient::new(url, None, None)
}

#[tokio::test]
async fn creates_and_deletes_queues() -> Result<()> {
    let queue = queues().queue_client(&fresh_name())?;
    assert!(!queue.exists().await?);
    queue.create(None).await?;
    assert!(queue.exists().await?);
    queue.delete(None).await?;
    assert_refused(
        send(&queue, "text").await,
        StatusCode::NotFound,
        "QueueNotFound",
    );
    Ok(())
}

#[tokio::test]
async fn sends_updates_and_deletes_messages() -> Result<()> {
    let (_, queue) = fresh_queue().await;
    send(&queue, "<first> & \"ölçü\"").await?;
    let first = receive(&queue).await?.expect("the message");
    assert_eq!(first.message_text.as_deref(), Some("<first> & \"ölçü\""));
    assert!(receive(&queue).await?.is_none());
    let (id, receipt) = (first.message_id.unwrap(), first.pop_receipt.unwrap());
    let options = QueueClientUpdateMessageOptions {
        queue_message: Some(
            QueueMessage {
                message_text: Some("second".into()),
            }
            .try_into()?,
        ),
        ..Default::default()
    };
    queue
        .update_message(&id, &receipt, 0, Some(options))
        .await?;
    let stale = queue.delete_message(&id, &receipt, None).await;
    assert_refused(stale, StatusCode::NotFound, "MessageNotFound");
    let second = receive(&queue).await?.expect("the message");
    assert_eq!(second.message_text.as_deref(), Some("second"));
    assert_eq!(second.dequeue_count, Some(2));
    queue
        .delete_message(&id, &second.pop_receipt.unwrap(), None)
        .await?;
    Ok(())
}

#[tokio::test]
async fn sets_and_gets_policies_with_a_token() -> Result<()> {
    let (_, queue) = fresh_queue().await;
    let expiry = OffsetDateTime::from_unix_timestamp(1_924_992_000).expect("a time");
    let policy = AccessPolicy {
        start: None,
        expiry: Some(expiry),
        permission: Some("rp".into()),
    };
    let identifier = SignedIdentifier {
        id: Some("readers".into()),
        access_policy: Some(policy),
    };
    let identifiers = SignedIdentifiers {
        items: Some(vec![identifier]),
    };
    queue
        .set_access_policy(identifiers.try_into()?, None)
        .await?;
    let found = queue
        .get_access_policy(None)
        .await?
        .into_model()?
        .items
        .unwrap_or_default();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id.as_deref(), Some("readers"));
    let policy = found[0].access_policy.as_ref().expect("the policy");
    assert_eq!(policy.permission.as_deref(), Some("rp"));
    assert_eq!(policy.expiry, Some(expiry));
    queue
        .set_access_policy(SignedIdentifiers { items: None }.try_into()?, None)
        .await?;
    let left = queue
        .get_access_policy(None)
        .await?
        .into_model()?
        .items
        .unwrap_or_default();
    assert!(left.is_empty());
    Ok(())
}

#[tokio::test]
async fn holds_a_delegated_signature_to_its_permissions_and_its_queue() -> Result<()> {
    let (name, queue) = fresh_queue().await;
    let (_, other) = fresh_queue().await;
    let key = delegation_key().await?;
    let expiry = OffsetDateTime::now_utc() + Duration::minutes(30);
    let signature = SasBuilder::new(account(), &key, expiry)?
        .queue(&name)
        .add()
        .build();
    let writer = guest(&queue, &signature)?;
    send(&writer, "from a guest").await?;
    let refused = receive(&writer).await;
    assert_refused(
        refused,
        StatusCode::Forbidden,
        "AuthorizationPermissionMismatch",
    );
    let elsewhere = guest(&other, &signature)?;
    assert_refused(
        send(&elsewhere, "text").await,
        StatusCode::Forbidden,
        "AuthenticationFailed",
    );
    let signature = SasBuilder::new(account(), &key, expiry)?
        .queue(&name)
        .process()
        .build();
    let reader = guest(&queue, &signature)?;
    let message = receive(&reader).await?.expect("the message");
    assert_eq!(message.message_text.as_deref(), Some("from a guest"));
    let (id, receipt) = (message.message_id.unwrap(), message.pop_receipt.unwrap());
    reader.delete_message(&id, &receipt, None).await?;
    Ok(())
}
