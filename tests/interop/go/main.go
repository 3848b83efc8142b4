// A client of RocketMQ's in Go, as a user would write it, for test_other_clients.py; ../node/client.js is the same in Node.
//
//	go-client produce NAMESRV TOPIC    sends each line of standard input; prints how each was taken
//	go-client consume NAMESRV TOPIC GROUP TAG    prints the queue and the body of each message until standard input ends
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func main() {
	rlog.SetLogLevel("warn")
	switch os.Args[1] {
	case "produce":
		produce(os.Args[2], os.Args[3])
	case "consume":
		consume(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	}
}

// produce sends lines of the form TAG BODY.
func produce(nameServer, topic string) {
	sender, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		producer.WithGroupName("go-producers"),
	)
	check(err)
	check(sender.Start())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		tag, body, _ := strings.Cut(lines.Text(), " ")
		message := primitive.NewMessage(topic, []byte(body)).WithTag(tag).WithKeys([]string{body})
		result, err := sender.SendSync(context.Background(), message)
		check(err)
		fmt.Println(result.Status, result.MessageQueue.QueueId, result.QueueOffset)
	}
	check(sender.Shutdown())
}

// consume reads as a member of a group; who else is in it decides which queues it gets.
func consume(nameServer, topic, group, tag string) {
	reader, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		consumer.WithGroupName(group),
		consumer.WithConsumerModel(consumer.Clustering),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	check(err)
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: tag}
	check(reader.Subscribe(topic, selector, take))
	check(reader.Start())
	_, _ = io.Copy(io.Discard, os.Stdin)
	check(reader.Shutdown())
}

func take(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	for _, message := range messages {
		fmt.Println(message.Queue.QueueId, string(message.Body))
	}
	return consumer.ConsumeSuccess, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
