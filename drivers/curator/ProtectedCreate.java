// Whose znode does a protected create of Curator's give back, if the session changes while it waits? It creates an ephemeral
// znode again and again, and looks whether what it was given is of its own session, and how long it lives.
//
//   mvn -q -f drivers/curator dependency:copy-dependencies -DoutputDirectory=jars
//   picklock serve zookeeper --servers 3 --listen 127.0.0.1:7391 --session 2000 --plan drivers/plans/all-crash-every-14s.json &
//   java -cp 'drivers/curator/jars/*' drivers/curator/ProtectedCreate.java 127.0.0.1:7391,127.0.0.1:7392,127.0.0.1:7393 150
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

public class ProtectedCreate {
    static CuratorFramework client;

    static long session() throws Exception {
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }

    public static void main(String[] arguments) throws Exception {
        client = CuratorFrameworkFactory.newClient(arguments[0], 2000, 2000, new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        long until = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;
        int creates = 0, changed = 0, others = 0;
        while (System.nanoTime() < until) {
            try {
                long before = session();
                String path = client.create().creatingParentsIfNeeded().withProtection()
                                    .withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/orders/lock-");
                long now = session();
                creates++;
                Stat stat = client.checkExists().forPath(path);
                if (now != before) {
                    changed++;
                    boolean own = stat != null && stat.getEphemeralOwner() == now;
                    if (!own) others++;
                    System.out.printf("the session changed during a create: what it gave back is %s%n",
                                      stat == null ? "gone already" : own ? "of the new session" : "of the old session");
                    long since = System.nanoTime();
                    while (!own && client.checkExists().forPath(path) != null && System.nanoTime() - since < 5e9) Thread.sleep(20);
                    if (!own) System.out.printf("  it is gone after %.2f s%n", (System.nanoTime() - since) / 1e9);
                }
                client.delete().guaranteed().inBackground().forPath(path);
            } catch (Exception error) {
                System.out.println(error);
            }
        }
        System.out.printf("%d creates; the session changed during %d; %d gave back a znode of another session%n", creates, changed, others);
        System.exit(0);
    }
}
