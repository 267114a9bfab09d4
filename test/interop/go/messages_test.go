package interop

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

func send(t *testing.T, queue *azqueue.QueueClient, text string) *azqueue.EnqueuedMessage {
	t.Helper()
	return must(queue.EnqueueMessage(ctx, text, nil))(t).Messages[0]
}

// take hides the next message for a number of seconds; it is nil when there is none.
func take(t *testing.T, queue *azqueue.QueueClient, seconds int32) *azqueue.DequeuedMessage {
	t.Helper()
	found := must(queue.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: &seconds}))(t)
	if len(found.Messages) == 0 {
		return nil
	}
	return found.Messages[0]
}

func peekTexts(t *testing.T, queue *azqueue.QueueClient) string {
	t.Helper()
	texts := []string{}
	options := &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(32))}
	for _, message := range must(queue.PeekMessages(ctx, options))(t).Messages {
		texts = append(texts, *message.MessageText)
	}
	return strings.Join(texts, " ")
}

func TestMessageTellsItsTimesWhenItIsSent(t *testing.T) {
	queue, _ := freshQueue(t)
	sent := send(t, queue, "text")
	if age := time.Since(*sent.InsertionTime).Abs(); age > time.Minute {
		t.Fatalf("the insertion is %v off", age)
	}
	equal(t, sent.ExpirationTime.Sub(*sent.InsertionTime), 7*24*time.Hour)
	equal(t, *sent.TimeNextVisible, *sent.InsertionTime)
	must(queue.DeleteMessage(ctx, *sent.MessageID, *sent.PopReceipt, nil))(t)
	equal(t, peekTexts(t, queue), "")
}

func TestMessageIsTakenUpdatedAndDeleted(t *testing.T) {
	queue, _ := freshQueue(t)
	send(t, queue, "first")
	message := take(t, queue, 60)
	equal(t, *message.MessageText, "first")
	equal(t, *message.DequeueCount, int64(1))
	equal(t, peekTexts(t, queue), "")
	updated := must(queue.UpdateMessage(ctx, *message.MessageID, *message.PopReceipt, "second", nil))(t)
	equal(t, peekTexts(t, queue), "second")
	stale, err := queue.DeleteMessage(ctx, *message.MessageID, *message.PopReceipt, nil)
	refused(t, stale, err, 404, "MessageNotFound")
	again, err := queue.UpdateMessage(ctx, *message.MessageID, *message.PopReceipt, "third", nil)
	refused(t, again, err, 404, "MessageNotFound")
	must(queue.DeleteMessage(ctx, *message.MessageID, *updated.PopReceipt, nil))(t)
	equal(t, take(t, queue, 1) == nil, true)
}

func TestMessageIsRefusedWithAReceiptThatIsNone(t *testing.T) {
	queue, _ := freshQueue(t)
	sent := send(t, queue, "text")
	answer, err := queue.DeleteMessage(ctx, *sent.MessageID, "wrong", nil)
	refused(t, answer, err, 400, "InvalidQueryParameterValue")
}

func TestMessageIsPeekedWithoutCounting(t *testing.T) {
	queue, _ := freshQueue(t)
	send(t, queue, "seen")
	for range 3 {
		message := must(queue.PeekMessage(ctx, nil))(t).Messages[0]
		equal(t, *message.DequeueCount, int64(0))
	}
}

func TestMessagesComeInTheirOrderUpTo32AtOnce(t *testing.T) {
	queue, _ := freshQueue(t)
	for number := range 40 {
		send(t, queue, strconv.Itoa(number))
	}
	number := 0
	for _, size := range []int{32, 8, 0} {
		options := &azqueue.DequeueMessagesOptions{
			NumberOfMessages: to.Ptr(int32(32)), VisibilityTimeout: to.Ptr(int32(3600)),
		}
		found := must(queue.DequeueMessages(ctx, options))(t).Messages
		equal(t, len(found), size)
		for _, message := range found {
			equal(t, *message.MessageText, strconv.Itoa(number))
			number++
		}
	}
	equal(t, *must(queue.GetProperties(ctx, nil))(t).ApproximateMessagesCount, int32(40))
	must(queue.ClearMessages(ctx, nil))(t)
	equal(t, *must(queue.GetProperties(ctx, nil))(t).ApproximateMessagesCount, int32(0))
}

func TestMessageAppearsLateAndExpires(t *testing.T) {
	queue, _ := freshQueue(t)
	put := func(text string, options azqueue.EnqueueMessageOptions) *azqueue.EnqueuedMessage {
		return must(queue.EnqueueMessage(ctx, text, &options))(t).Messages[0]
	}
	put("late", azqueue.EnqueueMessageOptions{VisibilityTimeout: to.Ptr(int32(2))})
	put("short", azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(1))})
	ever := put("ever", azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(-1))})
	equal(t, ever.ExpirationTime.Year(), 9999)
	equal(t, peekTexts(t, queue), "short ever")
	eventually(t, "the late message did not appear, or the short one stayed", func() bool {
		return peekTexts(t, queue) == "ever late"
	})
}

func TestMessageComesAgainAfterItsTimeout(t *testing.T) {
	queue, _ := freshQueue(t)
	send(t, queue, "again")
	first := take(t, queue, 1)
	var second *azqueue.DequeuedMessage
	eventually(t, "the message did not come again", func() bool {
		second = take(t, queue, 60)
		return second != nil
	})
	equal(t, *second.MessageID, *first.MessageID)
	equal(t, *second.DequeueCount, int64(2))
	stale, err := queue.DeleteMessage(ctx, *first.MessageID, *first.PopReceipt, nil)
	refused(t, stale, err, 404, "MessageNotFound")
}

func TestMessageKeepsItsText(t *testing.T) {
	queue, _ := freshQueue(t)
	every := make([]byte, 256)
	for index := range every {
		every[index] = byte(index)
	}
	for _, text := range []string{
		"", " ", "  x  ", "<a b='c'>&amp;</a>", "]]>", "příliš 😀", "a\tb\nc", "100% + 1",
		base64.StdEncoding.EncodeToString(every), strings.Repeat("x", 65536), strings.Repeat("😀", 16384),
	} {
		send(t, queue, text)
		message := take(t, queue, 60)
		equal(t, *message.MessageText, text)
		must(queue.DeleteMessage(ctx, *message.MessageID, *message.PopReceipt, nil))(t)
	}
}

func TestMessageBeyondTheLimitsIsRefused(t *testing.T) {
	queue, _ := freshQueue(t)
	sent, err := queue.EnqueueMessage(ctx, strings.Repeat("x", 65537), nil)
	refused(t, sent, err, 413, "RequestBodyTooLarge")
	peeked, err := queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(33))})
	refused(t, peeked, err, 400, "OutOfRangeQueryParameterValue")
	hidden := &azqueue.DequeueMessageOptions{VisibilityTimeout: to.Ptr(int32(604801))}
	got, err := queue.DequeueMessage(ctx, hidden)
	refused(t, got, err, 400, "OutOfRangeQueryParameterValue")
}
