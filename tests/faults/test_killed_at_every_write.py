"""A process that is killed before any one of its writes and syncs has kept every promise it made until then."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
def test_x(nursery, installation, tmp_path):
    from faults import tracing, minting
    from collections import Counter
    t=time.time()
    d=tmp_path/"clean"; shutil.copytree(installation,d)
    c=nursery.start("mint",str(d),"30",out=tmp_path/"o",errors=tmp_path/"e",is_traced=True)
    log=tmp_path/"log"
    with tracing.attached(c.pid,*tracing.recording(log)):
        print(c.wait(), time.time()-t)
    print(tracing.counted(log,d), (tmp_path/"e").read_text(), len((tmp_path/"o").read_text()))
    for n in (1,100,600,1300):
        t=time.time()
        d=tmp_path/f"r{n}"; shutil.copytree(installation,d)
        c=nursery.start("mint",str(d),"30",out=d/"o",errors=d/"e",is_traced=True)
        t1=time.time()
        with tracing.attached(c.pid,*tracing.injecting("pwrite64",n,"signal=SIGKILL")):
            t2=time.time()
            code=c.wait()
        t3=time.time()
        from attestlab.lab import Lab
        from attestlab.settings import Settings
        from lab_checks import check_lab, require_acknowledged
        lab=Lab.open(Settings(data=d))
        t4=time.time()
        acks=minting.Acknowledged.read((d/"o").read_text())
        require_acknowledged(lab,[(a.id,a.index) for a in acks])
        from attestlab.fsck import fsck
        assert list(fsck(lab))==[]
        t5=time.time()
        check_lab(lab)
        lab.close()
        print(n,code,len(acks),"start",t1-t,"attach",t2-t1,"run",t3-t2,"open",t4-t3,"fsck",t5-t4,"check",time.time()-t5)
