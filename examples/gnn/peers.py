"""peers.py NODES NEIGHBOURS CSV: the networks of gnn by PyTorch Geometric, on a graph that is made by the same rule.

An epoch is what gnn counts as one: a step of training, and loss and accuracy of all nodes without dropout. GCN's mean
is a torch.sparse CSR matrix. AGNN and GAT have a list of edges."""
import csv
import os
import sys
import time

import numpy
import torch
import torch_geometric
from torch_geometric.nn import AGNNConv, GATConv, GCNConv
from torch_geometric.utils import coalesce
from torch.nn.functional import cross_entropy, dropout, elu

CLASSES, WORDS, WORDS_NODE, EPOCHS = 4, 64, 12, 10
HIDDEN, DROPOUT, RATE = {"gcn": 16, "agnn": 64, "gat": 8}, {"gcn": 0.5, "agnn": 0.5, "gat": 0.6}, {"gcn": 0.01, "agnn": 0.01, "gat": 0.005}
COLUMNS = "network,graph,nodes,neighbours,type,hidden,seeds,epochs,accuracy,deviation,setup_s,first_epoch_s,epoch_s,least_epoch_s,precision,commit,petsc,cuda,machine,processes".split(",")


def generate(nodes, neighbours):
    """Edges without loops, features with row sums of 1, classes: GraphGenerate() in graph.c."""
    draw = numpy.random.default_rng(1)
    source = numpy.repeat(numpy.arange(nodes), (neighbours / 2 + draw.random(nodes)).astype(int))
    own = source % CLASSES
    partner = numpy.where(draw.random(len(source)) * 7 < 5, own + CLASSES * (draw.random(len(source)) * ((nodes - own + CLASSES - 1) // CLASSES)).astype(int), (draw.random(len(source)) * nodes).astype(int))
    edges = numpy.stack([numpy.concatenate([source, partner]), numpy.concatenate([partner, source])])
    edges = coalesce(torch.from_numpy(edges[:, edges[0] != edges[1]]), num_nodes=nodes)
    word = (WORDS * draw.random((nodes, WORDS_NODE))).astype(int)
    word[:, : WORDS_NODE // 4] = word[:, : WORDS_NODE // 4] // CLASSES * CLASSES + (numpy.arange(nodes) % CLASSES)[:, None]
    features = numpy.zeros((nodes, WORDS), "f4")
    features[numpy.arange(nodes)[:, None], word] = 1
    return edges, torch.from_numpy(features / features.sum(1, keepdims=True)), torch.arange(nodes) % CLASSES


class Network(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind, h = kind, HIDDEN[kind]
        if kind == "gcn":
            self.first, self.last = GCNConv(WORDS, h, normalize=False), GCNConv(h, CLASSES, normalize=False)
        elif kind == "gat":
            self.first, self.last = GATConv(WORDS, h, heads=8, dropout=DROPOUT[kind]), GATConv(8 * h, CLASSES, heads=1, concat=False, dropout=DROPOUT[kind])
        else:
            self.first, self.mean, self.attend, self.last = torch.nn.Linear(WORDS, h), AGNNConv(requires_grad=False), AGNNConv(), torch.nn.Linear(h, CLASSES)

    def forward(self, x, graph):
        drop = lambda x: dropout(x, DROPOUT[self.kind], self.training)
        if self.kind == "agnn":
            return self.last(drop(self.attend(self.mean(self.first(drop(x)).relu(), graph), graph)))
        h = self.first(drop(x), graph)
        return self.last(drop(h.relu() if self.kind == "gcn" else elu(h)), graph)


def mean_matrix(edges, nodes, dtype):
    """D^(-1/2) (A + I) D^(-1/2)"""
    loop = torch.arange(nodes, device=edges.device)
    edges = torch.cat([edges, torch.stack([loop, loop])], 1)
    scale = torch.bincount(edges[0], minlength=nodes).to(dtype).rsqrt()
    return torch.sparse_coo_tensor(edges, scale[edges[0]] * scale[edges[1]], (nodes, nodes)).coalesce().to_sparse_csr()


def train(kind, graph, dtype):
    edges, x, y = (t.cuda() for t in graph)
    turn = torch.arange(len(y), device="cuda") // CLASSES % 10
    learn, test = turn < 2, turn >= 5
    x = x.to(dtype)
    torch.manual_seed(1)
    torch.cuda.synchronize()
    begin = time.time()
    network = Network(kind).to("cuda", dtype)
    step = torch.optim.Adam(network.parameters(), lr=RATE[kind], weight_decay=5e-4)
    graph = mean_matrix(edges, len(y), dtype) if kind == "gcn" else edges
    torch.cuda.synchronize()
    setup, seconds = time.time() - begin, []
    for _ in range(EPOCHS + 1):
        begin = time.time()
        network.train()
        step.zero_grad()
        cross_entropy(network(x, graph)[learn], y[learn]).backward()
        step.step()
        network.eval()
        with torch.no_grad():
            out = network(x, graph)
            loss = cross_entropy(out, y).item()
            accuracy = 100 * (out.argmax(1) == y)[test].double().mean().item()
        seconds.append(time.time() - begin)
    assert loss == loss
    return accuracy, setup, seconds[0], sum(seconds[1:]) / EPOCHS, min(seconds[1:])


nodes, neighbours, table = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
graph = generate(nodes, neighbours)
new = not os.path.exists(table)
for kind in "gcn", "agnn", "gat":
    for precision, dtype in ("double", torch.float64), ("single", torch.float32):
        try:
            accuracy, *times = train(kind, graph, dtype)
        except Exception as error:  # a version may lack a layer
            print("%s, %s: %s: %s" % (kind, precision, type(error).__name__, str(error).splitlines()[:1]))
            continue
        print("%s, %s: set-up %.4f s, first epoch %.4f, an epoch %.4f, least %.4f" % (kind, precision, *times), flush=True)
        with open(table, "a") as f:
            out = csv.writer(f, lineterminator="\n")
            if new:
                out.writerow(COLUMNS)
            new = False
            out.writerow([kind, "generated", nodes, graph[0].shape[1], "PyTorch Geometric " + torch_geometric.__version__, HIDDEN[kind], 1, EPOCHS + 1, "%.2f" % accuracy, "0.00"] + ["%.4e" % t for t in times] +
                         [precision, "torch " + torch.__version__, "", torch.version.cuda, torch.cuda.get_device_name(), 1])
        torch.cuda.empty_cache()
