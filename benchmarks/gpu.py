"""Variants of the fused kernels timed on a card, beside the floors of one run."""
import sys, itertools, json
import numpy as np, torch, triton
from bagwise.kernels import Instances, device
from bagwise.kernels.device import fused, scoring
import os
B,n,d,C = 1_000_000, 8, 128, 64
if len(sys.argv)>1 and sys.argv[1]=="small": B=50_000
torch.manual_seed(0)
x = torch.randn((B*n,d),device="cuda")
class Fake: pass
off = torch.arange(0,B*n+1,n,device="cuda")
inst = Instances(np.zeros((1,d),np.float32), np.array([0,1]), np.zeros(d,np.float32), np.ones(d,np.float32), True)
res = device.Resident(inst, x, off, torch.zeros(d,device="cuda"), torch.ones(d,device="cuda"), torch.device("cuda"),
   (device.resident.Block((0,B*n),(device.resident.Group(8,8,torch.arange(B,device="cuda")),)),))
W = torch.randn((C,d),device="cuda")*0.1
lin = device.Linear(W, torch.zeros(C,device="cuda"))
f = torch.ones(C,device="cuda")
def t(fn): return triton.testing.do_bench(fn, warmup=50, rep=300, return_mode="median")
y=torch.empty_like(x)
print("copy", t(lambda: y.copy_(x)), "ms for", 2*x.nbytes/1e9,"GB"); del y
for tf in (False,True):
    torch.backends.cuda.matmul.allow_tf32=tf
    z=torch.empty((B*n,C),device="cuda"); print("product tf32",tf, t(lambda: torch.mm(x,W.T,out=z)))
del z
def eager(tf):
    torch.backends.cuda.matmul.allow_tf32=tf
    p=torch.softmax(x@W.T,1); a=torch.log1p(-p).view(B,n,C).sum(1); p0=a.exp(); return 2*p0*(1-p0)
print("eager tf32", t(lambda: eager(True)))
ref=None
def variants(kind):
    kern = fused._presence if kind=="presence" else fused._lengths
    out=torch.empty((B,C),device="cuda")
    rowss=(64,128,256) if kind=="presence" else (32,64,128)
    for prec in ("tf32","tf32x3","ieee"):
        best=None
        for rows,warps,part,stages in itertools.product(rowss,(4,8),(64,128) ,(1,2,3)):
            if kind!="presence" and (stages!=1 or part!=128) and not (rows==64 and warps==8): continue
            if prec=="ieee" and (stages!=1 or part!=64): continue
            bags=rows//8
            common=dict(D=d,K=C,PART=part,N=8,BAGS=bags,WANTED=fused.SCORES,PRECISION=prec,num_warps=warps,num_stages=stages)
            try:
                if kind=="presence":
                    fn=lambda: kern[(triton.cdiv(B,bags),)](x,0,off,res.blocks[0].groups[0].bags,B,W,lin.bias,f,out,out,C,CHUNKED=False,**common)
                else:
                    fn=lambda: kern[(triton.cdiv(B,bags),)](x,0,off,res.blocks[0].groups[0].bags,B,W,lin.bias,res.shift,res.inverse_scale,f,out,out,C,1.0,**common)
                out.fill_(float("nan")); fn(); torch.cuda.synchronize()
                k=2000
                got=out[:k].double().cpu()
                xs=x[:k*n].double().cpu().view(k,n,d)
                rows_=scoring.Rows.of(xs@W.double().cpu().mT, torch.ones((k,n),dtype=torch.bool))
                pr,ab=scoring.plain.presence(rows_)
                if kind=="presence": want=pr*ab
                else: want=ab*scoring.plain.squared_lengths(rows_, torch.cat([xs,torch.ones_like(xs[...,:1])],-1)).sqrt()
                err=float(((got-want).norm()/want.norm())); mx=float(((got-want).abs()/want).max())
                ms=triton.testing.do_bench(fn,warmup=20,rep=100,return_mode="median")
                row=(round(ms,3),prec,rows,warps,part,stages,f"{err:.1e}",f"{mx:.1e}")
                if best is None or row<best: best=row
                print(kind,row,flush=True)
            except Exception as e:
                print(kind,prec,rows,warps,part,stages,"failed",type(e).__name__,str(e)[:100].replace("\n"," "),flush=True)
        print("BEST",kind,best,flush=True)


def lens():
    grams=res.grams(x,res.blocks[0],res.blocks[0].groups[0])
    out=torch.empty((B,C),device="cuda")
    k=2000
    xs=x[:k*n].double().cpu().view(k,n,d)
    rows_=scoring.Rows.of(xs@W.double().cpu().mT, torch.ones((k,n),dtype=torch.bool))
    pr,ab=scoring.plain.presence(rows_)
    want=ab*scoring.plain.squared_lengths(rows_, torch.cat([xs,torch.ones_like(xs[...,:1])],-1)).sqrt()
    for prec in ("tf32","tf32x3"):
        for kept in (True,False):
          for rows,warps,part in ((16,1,64),(16,2,64),(16,4,64),(16,1,128),(32,1,64),(32,2,64),(32,4,64),(32,2,32),(32,2,128),(32,4,32),(64,4,64),(64,2,64)):
            if prec!="tf32" and (warps==1 or rows==64 or part!=64): continue
            bags=rows//8
            common=dict(D=d,K=C,PART=part,N=8,BAGS=bags,WANTED=fused.SCORES,PRECISION=prec,KEPT=kept,num_warps=warps,num_stages=1)
            try:
                fn=lambda: fused._lengths[(triton.cdiv(B,bags),)](x,0,off,res.blocks[0].groups[0].bags,B,W,lin.bias,grams if kept else res.shift,res.inverse_scale,f,out,out,C,1.0,**common)
                out.fill_(float("nan")); k_=fn(); torch.cuda.synchronize()
                got=out[:k].double().cpu()
                err=float(((got-want).norm()/want.norm())); mx=float(((got-want).abs()/want).max())
                ms=triton.testing.do_bench(fn,warmup=20,rep=100,return_mode="median")
                print("len",round(ms,3),prec,"kept",kept,rows,warps,part,f"{err:.1e} {mx:.1e}","regs",k_.n_regs,"spills",k_.n_spills,flush=True)
            except Exception as e:
                print("len",prec,kept,rows,warps,part,"failed",type(e).__name__,str(e)[:200].replace("\n"," "),flush=True)
lens()
def t2(fn): return triton.testing.do_bench(fn,warmup=20,rep=200,return_mode="median")
for tf in (True,False):
    print("plain lengths", tf, t2(lambda: scoring._by_pieces) )
# N=32: fused against plain
for N in (16,32,64):
    b2=B//16; 
    r2=device.Resident(inst, x[:b2*N] if N*b2<=B*n else x, torch.arange(0,b2*N+1,N,device="cuda"), res.shift,res.inverse_scale,res.device,(device.resident.Block((0,b2*N),(device.resident.Group(N,N,torch.arange(b2,device="cuda")),)),))
    lin2=device.Linear(W,lin.bias)
    wanted=scoring.Wanted.product(r2,f)
    def score(xx, rows, there):
        features=r2.seen(xx[rows]); of=scoring.Rows.of(features[...,:d]@W.mT,there)
        return scoring.plain.squared_lengths(of,features).clamp(min=0).sqrt(), scoring.plain.presence(of)[1]
    torch.backends.cuda.matmul.allow_tf32=True
    print("N",N,"bags",b2,"plain tf32",t2(lambda: scoring._by_pieces(r2,r2.x,r2.blocks[0],r2.blocks[0].groups[0],lin2,wanted,score)),flush=True)
    g=r2.grams(r2.x,r2.blocks[0],r2.blocks[0].groups[0]); out=wanted.out[0]
    for rows,warps,part in ((N if N>16 else 32,4,64),(64,4,64)):
        if rows<N: continue
        bags=rows//N
        fn=lambda: fused._lengths[(triton.cdiv(b2,bags),)](r2.x,0,r2.offsets,r2.blocks[0].groups[0].bags,b2,W,lin.bias,g,r2.inverse_scale,f,out,out,C,1.0,D=d,K=C,PART=part,N=N,BAGS=bags,WANTED=fused.SCORES,PRECISION="tf32",KEPT=True,num_warps=warps)
        print("   fused",rows,warps,t2(fn),flush=True)
