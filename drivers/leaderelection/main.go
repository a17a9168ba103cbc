// Kubernetes' leader election (client-go) under `picklock try etcd`: takes the lead again and again, and says to the witness when it
// has it. The lock is the library's; where Kubernetes has an API server, this has a key of etcd's, replaced at a revision.
//
//	(cd drivers/leaderelection && go build)
//	picklock try etcd -- drivers/leaderelection/leaderelection
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// key is a resourcelock.Interface: one key, and its revision when it was last read or written.
type key struct {
	client   *clientv3.Client
	identity string
	revision int64
}

func (k *key) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	got, err := k.client.Get(ctx, "orders")
	if err != nil {
		return nil, nil, err
	}
	if len(got.Kvs) == 0 {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "orders")
	}
	record := &resourcelock.LeaderElectionRecord{}
	k.revision = got.Kvs[0].ModRevision
	return record, got.Kvs[0].Value, json.Unmarshal(got.Kvs[0].Value, record)
}

func (k *key) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	k.revision = 0
	return k.Update(ctx, record)
}

func (k *key) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	value, err := json.Marshal(record)
	if err != nil {
		return err
	}
	put, err := k.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("orders"), "=", k.revision)).
		Then(clientv3.OpPut("orders", string(value))).Commit()
	if err != nil {
		return err
	}
	if !put.Succeeded {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "orders", errors.New("it was changed"))
	}
	k.revision = put.Header.Revision
	return nil
}

func (k *key) RecordEvent(string) {}
func (k *key) Identity() string   { return k.identity }
func (k *key) Describe() string   { return "orders" }

func main() {
	leaseMs, _ := strconv.Atoi(os.Getenv("PICKLOCK_LEASE_MS"))
	lease := time.Duration(leaseMs) * time.Millisecond
	members := strings.Split(os.Getenv("PICKLOCK_ETCD"), ",")
	client, err := clientv3.New(clientv3.Config{Endpoints: members, Logger: zap.NewNop()})
	if err != nil {
		panic(err)
	}
	witness, err := net.Dial("tcp", os.Getenv("PICKLOCK_WITNESS"))
	if err != nil {
		panic(err)
	}
	answers := bufio.NewScanner(witness)
	// Says it, and waits until it was heard.
	say := func(line string) string {
		fmt.Fprintln(witness, line)
		answers.Scan()
		return answers.Text()
	}
	for say("want orders") == "ok" {
		term, stop := context.WithCancel(context.Background())
		left := make(chan struct{})
		// Longer than it takes to be told that the lead is over.
		hold := lease*3/2 + time.Duration(rand.Int63n(int64(lease)*3/2))
		leaderelection.RunOrDie(term, leaderelection.LeaderElectionConfig{
			Lock: &key{client: client, identity: os.Getenv("PICKLOCK_CLIENT")},
			// The proportions are Kubernetes' own: 15 s, 10 s and 2 s.
			LeaseDuration: lease, RenewDeadline: lease * 2 / 3, RetryPeriod: lease * 2 / 15,
			ReleaseOnCancel: os.Getenv("RELEASE") != "no",
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leads context.Context) {
					defer close(left)
					say("enter orders")
					select {
					case <-leads.Done(): // the library says that the lead is over
						say("lost orders")
					case <-time.After(hold):
						say("write orders") // the library has no token that the write could carry
						say("leave orders")
						stop()
					}
				},
				OnStoppedLeading: func() {},
			},
		})
		<-left
		stop()
	}
}
