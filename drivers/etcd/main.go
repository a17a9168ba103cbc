// etcd's own concurrency.Mutex under `picklock try etcd`: takes a lock again and again, and says to the witness when it is in.
//
//	(cd drivers/etcd && go build)
//	picklock try etcd -- drivers/etcd/etcd
package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

func main() {
	leaseMs, _ := strconv.Atoi(os.Getenv("PICKLOCK_LEASE_MS"))
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
	say := func(format string, rest ...any) string {
		fmt.Fprintf(witness, format+"\n", rest...)
		answers.Scan()
		return answers.Text()
	}
	for {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(leaseMs/1000))
		for err == nil {
			if say("want orders") != "ok" {
				return
			}
			err = hold(session, time.Duration(leaseMs)*time.Millisecond, say)
		}
		time.Sleep(50 * time.Millisecond) // the members are away, or the session is over
	}
}

// hold takes the lock, once, and gives it back.
func hold(session *concurrency.Session, lease time.Duration, say func(string, ...any) string) error {
	patience, cancel := context.WithTimeout(session.Client().Ctx(), 5*time.Second)
	defer cancel()
	mutex := concurrency.NewMutex(session, "orders")
	if err := mutex.Lock(patience); err != nil {
		return err
	}
	token := mutex.Header().Revision // of the store when the lock was ours: later ones are larger
	say("enter orders %d", token)
	select {
	case <-session.Done(): // the library says that the lease is over
		say("lost orders")
		return concurrency.ErrSessionExpired
	case <-time.After(lease/10 + time.Duration(rand.Int63n(int64(lease)*14/10))):
	}
	say("write orders %d", token)
	say("leave orders")
	return mutex.Unlock(patience)
}
